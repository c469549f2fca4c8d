//! Names in scope.
//!
//! Bindings live in one arena for the whole instance; scopes are a tree of name lists, so that a
//! closure sees the scope it was made in, wherever it is called.

use super::value::Val;
use crate::ast::Span;
use std::cell::RefCell;
use std::rc::Rc;

/// One name and what it stands for.
#[derive(Debug)]
pub(crate) struct Binding<'a> {
    pub name: String,
    pub val: Val<'a>,
    pub mutable: bool,
    pub span: Span,
    /// How many run-time branches and loops enclose its declaration.
    pub control: usize,
}

/// A scope: names declared in it, and the scope around it.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    names: RefCell<Vec<(String, usize)>>,
    parent: Option<Rc<Scope>>,
}

impl Scope {
    pub fn root() -> Rc<Scope> {
        Rc::new(Scope::default())
    }
    pub fn child(parent: &Rc<Scope>) -> Rc<Scope> {
        Rc::new(Scope {
            names: RefCell::default(),
            parent: Some(Rc::clone(parent)),
        })
    }
    pub fn declare(&self, name: &str, binding: usize) {
        self.names.borrow_mut().push((name.to_string(), binding));
    }
    /// The newest binding of a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let own = self
            .names
            .borrow()
            .iter()
            .rev()
            .find(|(n, _)| n == name)
            .map(|(_, b)| *b);
        own.or_else(|| self.parent.as_ref().and_then(|p| p.find(name)))
    }
    /// All names, for suggestions.
    pub fn all(&self) -> Vec<String> {
        let mut names: Vec<String> = self.names.borrow().iter().map(|(n, _)| n.clone()).collect();
        if let Some(parent) = &self.parent {
            names.extend(parent.all());
        }
        names
    }
}
