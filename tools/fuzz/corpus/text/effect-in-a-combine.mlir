module {
  kir.kernel @k(%x1: !kir.view<f64, ["M", 4], in> {kir.name = "x1"}, %x2: !kir.view<bf16, [4], in> {kir.name = "x2"}, %x3: !kir.view<bf16, ["M", "N", "K"], in> {kir.name = "x3"}, %n5: !kir.view<i64, ["M"], in> {kir.name = "n5"}, %y6: !kir.view<f32, ["M"], inout> {kir.name = "y6"}, %y11: !kir.view<bf16, ["M"], inout> {kir.name = "y11"}, %y12: !kir.view<f32, ["N", "K"], inout> {kir.name = "y12"}, %s4: f64 {kir.name = "s4"}) {
    %0 = kir.constant -2 : i32 : i32
    %1 = kir.constant 4 : index : index
    %2 = kir.constant 1 : i32 : i32
    %3 = kir.constant 5 : index : index
    %4 = kir.constant 2 : index : index
    %5 = kir.constant 4 : i32 : i32
    %6 = kir.constant 3 : i32 : i32
    %7 = kir.constant true : i1
    %8 = kir.constant 0.000000e+00 : f32 : f32
    %9 = kir.constant -2.000000e+00 : f32 : f32
    %10 = kir.constant 1.500000e+00 : f32 : f32
    %11 = kir.constant 5.000000e-01 : f32 : f32
    %12 = kir.constant false : i1
    %13 = kir.constant 2.000000e+00 : f32 : f32
    %14 = kir.constant -1.000000e+00 : f32 : f32
    %15 = kir.constant 1 : index : index
    %16 = kir.constant 0 : index : index
    %M = kir.extent <"M">
    %N = kir.extent <"N">
    %K = kir.extent <"K">
    %17 = kir.domain %16 to %M step %15 : <"M">
    %18 = kir.read %n5[%17 : !kir.domain<"M">] : <i64, ["M"], in> -> !kir.tensor<i64, ["M"]>
    %19 = kir.broadcast %14 [] : f32 to <f32, ["M"]>
    %20 = kir.broadcast %13 [] : f32 to <f32, ["M"]>
    %21 = kir.binary minimum %19, %20 : !kir.tensor<f32, ["M"]>
    %22 = kir.broadcast %11 [] : f32 to <f32, ["M"]>
    %23 = kir.broadcast %10 [] : f32 to <f32, ["M"]>
    %24 = kir.select %12, %22, %23 : i1, !kir.tensor<f32, ["M"]>
    %25 = kir.broadcast %9 [] : f32 to <f32, ["M"]>
    %26 = kir.scan(%25) identity(%8) axis 0 {
    ^bb0(%arg8: f32, %arg9: f32):
      %49 = kir.binary add %arg8, %arg9 : f32
      kir.yield %49 : f32
    } : (!kir.tensor<f32, ["M"]>) identities(f32) -> (!kir.tensor<f32, ["M"]>)
    %27 = kir.fma %21, %24, %26 : !kir.tensor<f32, ["M"]>
    kir.write %27 to %y6[%18 : !kir.tensor<i64, ["M"]>] unique : !kir.tensor<f32, ["M"]>, <f32, ["M"], inout>
    %28 = kir.select %7, %6, %5 : i1, i32
    %29 = kir.cast %28 : i32 to index
    %30 = kir.binary mod %29, %M : index
    kir.symbol "?0" = %30
    %31 = kir.domain %16 to %4 step %15 : <2>
    %32 = kir.indices %31 : <2> -> <index, [2]>
    %33 = kir.broadcast %3 [] : index to <index, [2]>
    %34 = kir.binary mod %32, %33 : !kir.tensor<index, [2]>
    %35 = kir.cast %34 : !kir.tensor<index, [2]> to !kir.tensor<i32, [2]>
    %36 = kir.reduce(%35) identity(%2) axes [0] {
    ^bb0(%arg8: i32, %arg9: i32):
      %49 = kir.binary mul %arg8, %arg9 : i32
      kir.yield %49 : i32
    } : (!kir.tensor<i32, [2]>) -> (i32) identities(i32)
    %37 = kir.cast %36 : i32 to index
    %38 = kir.binary mod %37, %M : index
    kir.symbol "?1" = %38
    %g7 = kir.domain %30 to %38 step %15 : <-"?0" + "?1">
    %39 = kir.indices %g7 : <-"?0" + "?1"> -> <index, [-"?0" + "?1"]>
    kir.parallel(%g7 : !kir.domain<-"?0" + "?1">) {
    ^bb0(%i10: index):
      %49 = kir.indices %17 : <"M"> -> <index, ["M"]>
      %50 = kir.broadcast %49 [0] : !kir.tensor<index, ["M"]> to <index, ["M", 2]>
      %51 = kir.broadcast %32 [1] : !kir.tensor<index, [2]> to <index, ["M", 2]>
      %52 = kir.binary add %50, %51 : !kir.tensor<index, ["M", 2]>
      %53 = kir.broadcast %3 [] : index to <index, ["M", 2]>
      %54 = kir.binary mod %52, %53 : !kir.tensor<index, ["M", 2]>
      %55 = kir.cast %54 : !kir.tensor<index, ["M", 2]> to !kir.tensor<i32, ["M", 2]>
      %56 = kir.reduce(%55) identity(%2) axes [0, 1] {
      ^bb0(%arg9: i32, %arg10: i32):
        %60 = kir.binary mul %arg9, %arg10 : i32
        kir.if %7 {
        } else {
          %61 = kir.cast %arg10 : i32 to index
          %62 = kir.binary mod %61, %1 : index
          %63 = kir.domain %30 to %N step %K : <"N">
          %64 = kir.domain %K to %1 step %M : <"K">
          %65 = kir.read %x3[%62, %63, %64 : index, !kir.domain<"N">, !kir.domain<"K">] : <bf16, ["M", "N", "K"], in> -> !kir.tensor<bf16, ["N", "K"]>
          %66 = kir.cast %65 : !kir.tensor<bf16, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
          %67 = kir.bitcast %66 : !kir.tensor<f16, ["N", "K"]> to !kir.tensor<i16, ["N", "K"]>
          %68 = kir.bitcast %67 : !kir.tensor<i16, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
          %69 = kir.cast %68 : !kir.tensor<f16, ["N", "K"]> to !kir.tensor<f32, ["N", "K"]>
          %70 = kir.scan(%69) identity(%11) axis 1 {
          ^bb0(%arg11: f32, %arg12: f32):
            %71 = kir.binary add %arg11, %arg12 : f32
            kir.yield %71 : f32
          } : (!kir.tensor<f32, ["N", "K"]>) identities(f32) -> (!kir.tensor<f32, ["N", "K"]>)
          kir.write %70 to %y12[%63, %64 : !kir.domain<"N">, !kir.domain<"K">] : !kir.tensor<f32, ["N", "K"]>, <f32, ["N", "K"], inout>
        }
        kir.yield %60 : i32
      } : (!kir.tensor<i32, ["M", 2]>) -> (i32) identities(i32)
      %57 = kir.cast %56 : i32 to index
      %58 = kir.binary mod %57, %1 : index
      %59 = kir.read %x2[%58 : index] : <bf16, [4], in> -> bf16
      kir.write %59 to %y11[%i10 : index] : bf16, <bf16, ["M"], inout>
    }
    kir.parallel(%g7 : !kir.domain<-"?0" + "?1">) {
    ^bb0(%i10: index):
      %49 = kir.indices %17 : <"M"> -> <index, ["M"]>
      %50 = kir.broadcast %49 [0] : !kir.tensor<index, ["M"]> to <index, ["M", 2]>
      %51 = kir.broadcast %32 [1] : !kir.tensor<index, [2]> to <index, ["M", 2]>
      %52 = kir.binary add %50, %51 : !kir.tensor<index, ["M", 2]>
      %53 = kir.broadcast %3 [] : index to <index, ["M", 2]>
      %54 = kir.binary mod %52, %53 : !kir.tensor<index, ["M", 2]>
      %55 = kir.cast %54 : !kir.tensor<index, ["M", 2]> to !kir.tensor<i32, ["M", 2]>
      %56 = kir.reduce(%55) identity(%2) axes [0, 1] {
      ^bb0(%arg9: i32, %arg10: i32):
        %60 = kir.binary mul %arg9, %arg10 : i32
        kir.if %7 {
        } else {
          %61 = kir.cast %arg10 : i32 to index
          %62 = kir.binary mod %61, %1 : index
          %63 = kir.domain %30 to %N step %K : <"N">
          %64 = kir.domain %K to %1 step %M : <"K">
          %65 = kir.read %x3[%62, %63, %64 : index, !kir.domain<"N">, !kir.domain<"K">] : <bf16, ["M", "N", "K"], in> -> !kir.tensor<bf16, ["N", "K"]>
          %66 = kir.cast %65 : !kir.tensor<bf16, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
          %67 = kir.bitcast %66 : !kir.tensor<f16, ["N", "K"]> to !kir.tensor<i16, ["N", "K"]>
          %68 = kir.bitcast %67 : !kir.tensor<i16, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
          %69 = kir.cast %68 : !kir.tensor<f16, ["N", "K"]> to !kir.tensor<f32, ["N", "K"]>
          %70 = kir.scan(%69) identity(%11) axis 1 {
          ^bb0(%arg11: f32, %arg12: f32):
            %71 = kir.binary add %arg11, %arg12 : f32
            kir.yield %71 : f32
          } : (!kir.tensor<f32, ["N", "K"]>) identities(f32) -> (!kir.tensor<f32, ["N", "K"]>)
          kir.write %70 to %y12[%63, %64 : !kir.domain<"N">, !kir.domain<"K">] : !kir.tensor<f32, ["N", "K"]>, <f32, ["N", "K"], inout>
        }
        kir.yield %60 : i32
      } : (!kir.tensor<i32, ["M", 2]>) -> (i32) identities(i32)
      %57 = kir.cast %56 : i32 to index
      %58 = kir.binary mod %57, %1 : index
      %59 = kir.read %x2[%58 : index] : <bf16, [4], in> -> bf16
      kir.write %59 to %y11[%i10 : index] : bf16, <bf16, ["M"], inout>
    }
    %40 = kir.broadcast %39 [0] : !kir.tensor<index, [-"?0" + "?1"]> to <index, [-"?0" + "?1", -"?0" + "?1"]>
    %41 = kir.broadcast %39 [1] : !kir.tensor<index, [-"?0" + "?1"]> to <index, [-"?0" + "?1", -"?0" + "?1"]>
    %42 = kir.binary add %40, %41 : !kir.tensor<index, [-"?0" + "?1", -"?0" + "?1"]>
    %43 = kir.broadcast %3 [] : index to <index, [-"?0" + "?1", -"?0" + "?1"]>
    %44 = kir.binary mod %42, %43 : !kir.tensor<index, [-"?0" + "?1", -"?0" + "?1"]>
    %45 = kir.broadcast %4 [] : index to <index, [-"?0" + "?1", -"?0" + "?1"]>
    %46 = kir.compare lt %44, %45 : !kir.tensor<index, [-"?0" + "?1", -"?0" + "?1"]> -> !kir.tensor<i1, [-"?0" + "?1", -"?0" + "?1"]>
    %47 = kir.transpose %46 [1, 0] : <i1, [-"?0" + "?1", -"?0" + "?1"]> to <i1, [-"?0" + "?1", -"?0" + "?1"]>
    %48 = kir.reduce(%47) identity(%7) axes [0, 1] {
    ^bb0(%arg8: i1, %arg9: i1):
      %49 = kir.binary and %arg8, %arg9 : i1
      kir.yield %49 : i1
    } : (!kir.tensor<i1, [-"?0" + "?1", -"?0" + "?1"]>) -> (i1) identities(i1)
    kir.if %48 {
    } else {
      %49 = kir.cast %0 : i32 to index
      %50 = kir.binary mod %49, %M : index
      %51 = kir.domain %16 to %N step %15 : <"N">
      %52 = kir.domain %16 to %K step %15 : <"K">
      %53 = kir.read %x3[%50, %51, %52 : index, !kir.domain<"N">, !kir.domain<"K">] : <bf16, ["M", "N", "K"], in> -> !kir.tensor<bf16, ["N", "K"]>
      %54 = kir.cast %53 : !kir.tensor<bf16, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
      %55 = kir.bitcast %54 : !kir.tensor<f16, ["N", "K"]> to !kir.tensor<i16, ["N", "K"]>
      %56 = kir.bitcast %55 : !kir.tensor<i16, ["N", "K"]> to !kir.tensor<f16, ["N", "K"]>
      %57 = kir.cast %56 : !kir.tensor<f16, ["N", "K"]> to !kir.tensor<f32, ["N", "K"]>
      %58 = kir.scan(%57) identity(%8) axis 1 {
      ^bb0(%arg8: f32, %arg9: f32):
        %59 = kir.binary add %arg8, %arg9 : f32
        kir.yield %59 : f32
      } : (!kir.tensor<f32, ["N", "K"]>) identities(f32) -> (!kir.tensor<f32, ["N", "K"]>)
      kir.write %58 to %y12[%51, %52 : !kir.domain<"N">, !kir.domain<"K">] : !kir.tensor<f32, ["N", "K"]>, <f32, ["N", "K"], inout>
    }
    kir.return
  }
}
