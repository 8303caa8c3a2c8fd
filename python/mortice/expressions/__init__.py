"""Expressions over the columns of rows: those of `Table.update_where` and `Table.merge`.

The grammar is the part of SQL that filters, assignments and join conditions need (docs/writing.md has all of it):

    or       := and ("OR" and)*
    and      := not ("AND" not)*
    not      := "NOT" not | test
    test     := sum [ ("=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | "<=>") sum
                    | "IS" ["NOT"] ("NULL" | "TRUE" | "FALSE")
                    | ["NOT"] ("IN" "(" or ("," or)* ")" | "BETWEEN" sum "AND" sum | "LIKE" string) ]
    sum      := product (("+" | "-" | "||") product)*
    product  := unary (("*" | "/" | "%") unary)*
    unary    := ("-" | "+") unary | primary
    primary  := literal | column | "CAST" "(" or "AS" type ")" | "CASE" … "END" | name "(" [or ("," or)*] ")"
              | "(" or ")"

Null is SQL's: a comparison with null is null, and a condition selects the rows for which it is true. Arithmetic that
overflows, a division by zero and a cast of a value that the type does not hold are errors. pyarrow computes.
"""

from __future__ import annotations

from mortice.expressions.columns import Columns
from mortice.expressions.evaluate import Expression
from mortice.expressions.pushdown import pushed_terms

__all__ = ["Columns", "Expression", "pushed_terms"]
