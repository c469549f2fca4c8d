//! One row a node: its tag and its fields, in the order of the text.

use super::read::Reader;
use super::write::Writer;
use super::{Node, TextError};
use crate::ast::*;
#[cfg(test)]
use arbtest::arbitrary::Unstructured;

/// Structs: `(tag fields..)`.
macro_rules! structs {
    ($($tag:literal $type:ident { $($field:ident)* } $(but { $($kept:ident)* })?;)*) => {$(
        impl Node for $type {
            fn put(&self, to: &mut Writer) {
                to.open($tag);
                $(self.$field.put(to);)*
                to.close();
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
                let tag = from.open()?;
                if tag != $tag {
                    return from.fail(format!("expected `{}`, found `{tag}`", $tag));
                }
                let node = $type {
                    $($field: Node::get(from)?,)*
                    $($($kept: Default::default(),)*)?
                };
                from.close()?;
                Ok(node)
            }
            #[cfg(test)]
            fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
                $type {
                    $($field: Node::any(from, deep.saturating_sub(1)),)*
                    $($($kept: Default::default(),)*)?
                }
            }
        }
    )*};
}

structs! {
    "program" Program { kernel items } but { places };
    "places" Places { files places };
    "kernel" Kernel { name options generics params body };
    "fn" DeviceFn { name generics params output body };
    "option" KernelOption { name value args };
    "param" Param { pattern ty };
    "path" Path { segments };
    "segment" Segment { name generics };
    "block" Block { span stmts value };
    "unroll" Unroll { span factor };
    "fact" Fact { expr text };
    "arm" Arm { pattern guard body };
    "operand" PtxOperand { role name ty value };
    "effect" PtxEffect { name of };
}

/// Enums: `(tag fields..)`; those with a span beside them: `(tag@n fields..)`. The first row has no part
/// of its own kind, so that a random tree ends.
macro_rules! enums {
    ($($type:ident { $($tag:literal $variant:ident $(($($item:ident)*))? $({$($field:ident)*})?;)* })*) => {$(
        impl $type {
            fn put_at(&self, to: &mut Writer, span: Option<Span>) {
                match self {$(
                    $type::$variant $(($($item),*))? $({ $($field),* })? => {
                        to.open($tag);
                        if let Some(span) = span {
                            to.span(span);
                        }
                        $($($item.put(to);)*)?
                        $($($field.put(to);)*)?
                        to.close();
                    }
                )*}
            }
            fn get_at(from: &mut Reader<'_>, spanned: bool) -> Result<(Self, Span), TextError> {
                let tag = from.open()?;
                let span = if spanned { from.span()? } else { Span::default() };
                let node = match tag {
                    $($tag => {
                        $($(let $item = Node::get(from)?;)*)?
                        $type::$variant $(($($item),*))? $({ $($field: Node::get(from)?),* })?
                    })*
                    _ => return from.fail(format!("`{tag}` is unknown")),
                };
                from.close()?;
                Ok((node, span))
            }
            #[cfg(test)]
            #[allow(unused_variables)]
            fn any_at(from: &mut Unstructured<'_>, deep: u32) -> Self {
                let tags = [$($tag),*];
                let below = deep.saturating_sub(1);
                let last = if deep == 0 { 0 } else { tags.len() - 1 };
                let tag = tags[from.int_in_range(0..=last).unwrap_or(0)];
                match tag {
                    $($tag => {
                        $($(let $item = Node::any(from, below);)*)?
                        $type::$variant $(($($item),*))? $({ $($field: Node::any(from, below)),* })?
                    })*
                    _ => unreachable!(),
                }
            }
        }
    )*};
}

enums! {
    ExprKind {
        "lit" Lit(lit);
        "path" Path(path);
        "un" Unary(op value);
        "bin" Binary(op left right);
        "set" Assign(place value);
        "opset" AssignOp(op place value);
        "call" Call(callee args);
        "method" Method { recv name generics args };
        "field" Field(base name);
        "index" Index(base index);
        "tuple" Tuple(parts);
        "array" Array(parts);
        "repeat" Repeat(value count);
        "do" Block(block);
        "if" If { cond then otherwise };
        "let" Let(pattern value);
        "match" Match(value arms);
        "for" For { pattern iter body unroll label };
        "while" While { cond body label };
        "loop" Loop { body label };
        "break" Break(label value);
        "continue" Continue(label);
        "return" Return(value);
        "closure" Closure { params body };
        "range" Range { lo hi inclusive };
        "as" Cast(value ty);
        "ref" Ref(mutable value);
        "require" Require(facts);
        "layout" Layout(text);
        "ptx" Ptx { text place operands effects };
        "struct" Struct(path fields);
        "unsupported" Unsupported(what);
    }
    TypeKind {
        "infer" Infer;
        "name" Path(path);
        "ref" Ref { mutable inner };
        "tuple" Tuple(parts);
        "array" Array(of len);
        "other" Other(text);
    }
    PatternKind {
        "wild" Wild;
        "lit" Lit(lit);
        "bind" Bind { name mutable sub };
        "tuple" Tuple(parts);
        "array" Array(parts);
        "range" Range { lo hi inclusive };
        "or" Or(parts);
        "path" Path(path);
        "of" TupleStruct(path parts);
        "ref" Ref(inner);
    }
    Lit {
        "int" Int(value suffix);
        "float" Float(text suffix);
        "bool" Bool(value);
        "str" Str(text);
    }
    Item {
        "const" Const { name ty value };
        "item" Fn(item);
        "struct" Struct { name fields };
    }
    Generic {
        "type" Type { name bounds };
        "const" Const { name ty };
    }
    GenericArg {
        "type" Type(ty);
        "const" Const(value);
    }
    Stmt {
        "do" Expr(value);
        "let" Let { span pattern ty init };
        "const" Const { name ty value };
    }
}

macro_rules! unspanned {
    ($($type:ident)*) => {$(
        impl Node for $type {
            fn put(&self, to: &mut Writer) {
                self.put_at(to, None);
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
                Ok($type::get_at(from, false)?.0)
            }
            #[cfg(test)]
            fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
                $type::any_at(from, deep)
            }
        }
    )*};
}
unspanned!(Lit Item Generic GenericArg);

macro_rules! spanned {
    ($($type:ident $kind:ident;)*) => {$(
        impl Node for $type {
            fn put(&self, to: &mut Writer) {
                self.kind.put_at(to, Some(self.span));
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
                let (kind, span) = $kind::get_at(from, true)?;
                Ok($type { kind, span })
            }
            #[cfg(test)]
            fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
                $type { kind: $kind::any_at(from, deep), span: Node::any(from, 0) }
            }
        }
    )*};
}
spanned! {
    Expr ExprKind;
    Type TypeKind;
    Pattern PatternKind;
}

/// A statement begins a line.
impl Node for Stmt {
    fn put(&self, to: &mut Writer) {
        to.line();
        self.put_at(to, None);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        Ok(Stmt::get_at(from, false)?.0)
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
        Stmt::any_at(from, deep)
    }
}

/// Operators: a word each.
macro_rules! operators {
    ($($type:ident { $($word:literal $variant:ident;)* })*) => {$(
        impl Node for $type {
            fn put(&self, to: &mut Writer) {
                to.word(match self { $($type::$variant => $word),* });
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
                match from.word()? {
                    $($word => Ok($type::$variant),)*
                    other => from.fail(format!("`{other}` is no operator")),
                }
            }
            #[cfg(test)]
            fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
                *from.choose(&[$($type::$variant),*]).unwrap_or(&[$($type::$variant),*][0])
            }
        }
    )*};
}
operators! {
    BinOp {
        "+" Add; "-" Sub; "*" Mul; "/" Div; "%" Rem;
        "&" And; "|" Or; "^" Xor; "<<" Shl; ">>" Shr;
        "&&" AndAnd; "||" OrOr;
        "==" Eq; "!=" Ne; "<" Lt; "<=" Le; ">" Gt; ">=" Ge;
    }
    UnOp { "-" Neg; "!" Not; "*" Deref; }
    PtxRole { "in" In; "out" Out; "const" Const; }
}

impl Node for Name {
    fn put(&self, to: &mut Writer) {
        to.word(&self.text);
        to.span(self.span);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        Ok(Name {
            text: from.word()?.to_owned(),
            span: from.span()?,
        })
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
        let text = *from.choose(&["x", "acc_2", "N", "größe"]).unwrap_or(&"y");
        Name {
            text: text.to_owned(),
            span: Node::any(from, 0),
        }
    }
}

impl Node for Span {
    fn put(&self, to: &mut Writer) {
        to.span(*self);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        from.span()
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
        Span(from.arbitrary().unwrap_or(0))
    }
}

/// `file:line:column`
impl Node for Place {
    fn put(&self, to: &mut Writer) {
        to.word(&format!("{}:{}:{}", self.file, self.line, self.column));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        let word = from.word()?;
        let mut parts = word.split(':').map(str::parse);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(file)), Some(Ok(line)), Some(Ok(column)), None) => {
                Ok(Place { file, line, column })
            }
            _ => from.fail(format!("`{word}` is no place")),
        }
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
        Place {
            file: from.arbitrary().unwrap_or(0),
            line: from.arbitrary().unwrap_or(0),
            column: from.arbitrary().unwrap_or(0),
        }
    }
}

impl Node for String {
    fn put(&self, to: &mut Writer) {
        to.text(self);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        from.text()
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
        from.arbitrary().unwrap_or_default()
    }
}

impl Node for i128 {
    fn put(&self, to: &mut Writer) {
        to.word(&self.to_string());
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        from.number()
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
        from.arbitrary().unwrap_or(0)
    }
}

impl Node for bool {
    fn put(&self, to: &mut Writer) {
        to.word(if *self { "yes" } else { "no" });
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        match from.word()? {
            "yes" => Ok(true),
            "no" => Ok(false),
            other => from.fail(format!("`{other}` is neither `yes` nor `no`")),
        }
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, _: u32) -> Self {
        from.arbitrary().unwrap_or(false)
    }
}

impl<T: Node> Node for Box<T> {
    fn put(&self, to: &mut Writer) {
        (**self).put(to);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        T::get(from).map(Box::new)
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
        Box::new(T::any(from, deep))
    }
}

impl<T: Node> Node for Option<T> {
    fn put(&self, to: &mut Writer) {
        match self {
            Some(node) => node.put(to),
            None => to.word("~"),
        }
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        if from.absent() {
            return Ok(None);
        }
        T::get(from).map(Some)
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
        let some = deep > 0 && from.arbitrary().unwrap_or(false);
        some.then(|| T::any(from, deep - 1))
    }
}

impl<T: Node> Node for Vec<T> {
    fn put(&self, to: &mut Writer) {
        to.open_list();
        for node in self {
            node.put(to);
        }
        to.close_list();
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        from.open_list()?;
        let mut out = Vec::new();
        while !from.close_list() {
            out.push(T::get(from)?);
        }
        Ok(out)
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
        let most = if deep == 0 { 0 } else { 3 };
        let count = from.int_in_range(0..=most).unwrap_or(0);
        (0..count).map(|_| T::any(from, deep - 1)).collect()
    }
}

/// A field of a struct, or of a struct literal.
impl<T: Node> Node for (Name, T) {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
        self.1.put(to);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, TextError> {
        Ok((Node::get(from)?, Node::get(from)?))
    }
    #[cfg(test)]
    fn any(from: &mut Unstructured<'_>, deep: u32) -> Self {
        (Node::any(from, deep), Node::any(from, deep))
    }
}
