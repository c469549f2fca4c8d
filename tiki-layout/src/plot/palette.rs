//! Colours that readers with any colour vision can tell apart.
//!
//! Classes: seven colours of Okabe and Ito and a violet; their grey is too near to their pink for some readers. Levels: a ramp from dark blue to yellow that rises evenly in lightness
//! (stops of cividis). Wavefronts: sky blue for the first, then yellow to brown as the conflict grows; lightness falls
//! with it, so the order survives in grey.

use crate::picture::{LEVELS, Paint};

/// Red, green, blue.
pub type Colour = (u8, u8, u8);

/// Light or dark background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark ink on white.
    #[default]
    Light,
    /// Light ink on near-black.
    Dark,
}

const CLASS_COLOURS: [Colour; 8] = [
    (86, 180, 233),
    (230, 159, 0),
    (0, 158, 115),
    (240, 228, 66),
    (0, 114, 178),
    (213, 94, 0),
    (204, 121, 167),
    (84, 39, 143),
];

const RAMP: [Colour; 5] = [
    (0, 34, 78),
    (65, 77, 107),
    (125, 124, 120),
    (188, 175, 111),
    (253, 231, 55),
];

/// Wavefronts 1, 2, 3 and 4, 5 to 8, 9 and more.
const WAVES: [Colour; 5] = [
    (86, 180, 233),
    (254, 227, 145),
    (254, 153, 41),
    (204, 76, 2),
    (102, 37, 6),
];

/// The groups of wavefronts that share a colour, from 1.
pub(super) const WAVE_NAMES: [(u16, &str); 5] =
    [(0, "1"), (1, "2"), (2, "3-4"), (4, "5-8"), (8, "9+")];

impl Theme {
    /// The colour behind everything.
    pub fn background(self) -> Colour {
        match self {
            Theme::Light => (255, 255, 255),
            Theme::Dark => (24, 26, 31),
        }
    }

    /// The colour of titles, coordinates and heavy lines.
    pub fn ink(self) -> Colour {
        match self {
            Theme::Light => (26, 26, 26),
            Theme::Dark => (230, 230, 230),
        }
    }

    /// The colour of second-rank text.
    pub fn faint(self) -> Colour {
        match self {
            Theme::Light => (90, 90, 90),
            Theme::Dark => (165, 165, 165),
        }
    }

    /// The colour of a cell.
    pub fn fill(self, paint: Paint) -> Colour {
        match (paint, self) {
            (Paint::Empty, Theme::Light) => (238, 238, 238),
            (Paint::Empty, Theme::Dark) => (42, 45, 52),
            (Paint::Class(class), _) => CLASS_COLOURS[usize::from(class) % CLASS_COLOURS.len()],
            (Paint::Level(level), _) => ramp(level),
            (Paint::Wave(wave), _) => {
                let group = WAVE_NAMES
                    .iter()
                    .rposition(|(first, _)| *first <= wave)
                    .unwrap_or(0);
                WAVES[group]
            }
        }
    }

    /// Black or white, whichever stands out on a colour.
    pub fn text_on(self, fill: Colour) -> Colour {
        if contrast(fill, (0, 0, 0)) >= contrast(fill, (255, 255, 255)) {
            (0, 0, 0)
        } else {
            (255, 255, 255)
        }
    }
}

fn ramp(level: u8) -> Colour {
    let at = u32::from(level.min(LEVELS - 1)) * (RAMP.len() as u32 - 1);
    let steps = u32::from(LEVELS - 1);
    let (index, part) = ((at / steps) as usize, at % steps);
    let (a, b) = (RAMP[index], RAMP[(index + 1).min(RAMP.len() - 1)]);
    let mix = |a: u8, b: u8| ((u32::from(a) * (steps - part) + u32::from(b) * part) / steps) as u8;
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// The contrast ratio of two colours, 1 to 21, by relative luminance.
pub fn contrast(a: Colour, b: Colour) -> f64 {
    let channel = |c: u8| {
        let c = f64::from(c) / 255.0;
        if c <= 0.04045 {
            c / 12.92
        } else {
            ((c + 0.055) / 1.055).powf(2.4)
        }
    };
    let luminance =
        |c: Colour| 0.2126 * channel(c.0) + 0.7152 * channel(c.1) + 0.0722 * channel(c.2);
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    if a > b { a / b } else { b / a }
}
