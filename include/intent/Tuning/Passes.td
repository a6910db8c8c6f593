#ifndef INTENT_TUNING_PASSES_TD
#define INTENT_TUNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def BlockMaterializeConfigurations : Pass<"block-materialize-configurations", "::mlir::ModuleOp"> {
  let summary = "bind declared parameters to the legal rows of a tuning table";
  let description = [{
    Chooses the structural family of each program and projects every row of that family onto the declared
    parameters: the largest value of the domain that is not above the row's, else the smallest. Rows that
    break a resource rule are dropped, options that nothing consumes are dropped, equal rows are merged. The
    target comes from the module. Before, with the rows `[1, 8192, ..., 8, 3, 1, 0]` and `[1, 8192, ..., 8, 4, 1, 0]`:

    ```
    block.program @main privates ["N"] parameters [
        #block.parameter<"BN", ownership, int domain = [256, 512, 1024] column = "ownership_n">] (...)
    ```

    After: no loop loads, so `NUM_STAGES` has no consumer and the two rows are one candidate.

    ```
    block.program @main privates ["N"] parameters [
        #block.parameter<"BN", ownership, int domain = [256, 512, 1024] column = "ownership_n">,
        #block.parameter<"NUM_WARPS", provider, int domain = [1, 2, 4, 8, 16, 32] column = "NUM_WARPS" affects = ["launch"]>]
        configurations #block.configurations<["BN", "NUM_WARPS"], [array<i64: 1024, 8>]> family "pointwise" (...)
    ```

    A program that has configurations keeps them. It must not change a program's body, combine columns of
    two rows, or add a candidate that no row asks for. A program without a legal candidate is an error with
    the rule that removed each row.
  }];
  let options = [
    Option<"table", "table", "std::string", "", "the table file of the target's provider">,
    Option<"override", "override", "std::string", "", "a file whose families replace those of the table">,
    Option<"explain", "explain", "bool", "false", "a remark on every row: kept, merged or rejected by which rule">];
  let dependentDialects = ["::intent::block::BlockDialect"];
}

#endif
