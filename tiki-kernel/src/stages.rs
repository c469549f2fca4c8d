//! The stages that can be looked at, by name: those of `TIKI_DUMP` and of the command.

/// When a stage is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When a kernel is compiled.
    Build,
    /// When it is loaded.
    Load,
    /// On either occasion.
    Both,
}

/// Name, other name, and when it is there.
pub const STAGES: &[(&str, &str, When)] = &[
    ("ast", "", When::Build),
    ("ir", "", When::Build),
    ("schedule", "plan", When::Build),
    ("lower", "", When::Build),
    ("ptx", "", When::Both),
    ("budget", "", When::Build),
    ("report", "explain", When::Build),
    ("time", "", When::Build),
    ("cubin", "", When::Load),
    ("log", "", When::Load),
    ("sass", "", When::Load),
    ("all", "", When::Both),
];

/// The stage of a name or of its other name.
#[must_use]
pub fn named(word: &str) -> Option<&'static str> {
    let row = STAGES
        .iter()
        .find(|(name, also, _)| *name == word || *also == word);
    row.filter(|_| !word.is_empty()).map(|(name, ..)| *name)
}

/// What is to be said of the first of these words that names no stage.
#[must_use]
pub fn unknown(words: &[String]) -> Option<String> {
    let word = words.iter().find(|word| named(word).is_none())?;
    let names: Vec<&str> = STAGES.iter().map(|(name, ..)| *name).collect();
    Some(format!(
        "TIKI_DUMP names `{word}`, which is no stage; there are {}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stages_or_told() {
        assert_eq!(named("plan"), Some("schedule"));
        assert_eq!(named("sass"), Some("sass"));
        assert_eq!((named("budgt"), named("")), (None, None));
        let words = ["ptx", "budgt"].map(String::from);
        assert_eq!(unknown(&words[..1]), None);
        let said = unknown(&words).expect("something");
        assert!(
            said.contains("`budgt`") && said.contains("budget"),
            "{said}"
        );
    }
}
