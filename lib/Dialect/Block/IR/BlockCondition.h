// Conditions on launches: conjunctions, disjunctions and negations of comparisons.
#ifndef INTENT_DIALECT_BLOCK_IR_BLOCKCONDITION_H
#define INTENT_DIALECT_BLOCK_IR_BLOCKCONDITION_H

#include "intent/Dialect/Block/IR/Block.h"

namespace intent::block {

/// `and` or `or` of two conditions, without what the rest of them implies or contradicts.
ExprAttr simplifiedJoin(ExprKind kind, ExprAttr a, ExprAttr b);
ExprAttr simplifiedNot(ExprAttr condition);

} // namespace intent::block

#endif
