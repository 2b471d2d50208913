//! `suanli-sim`: hunts for histories that break a law.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde::{Deserialize, Serialize};
use suanli_sim::{Action, Broken, Told, history, shorten, tell};

/// Lives through simulated histories of a whole site until one of them breaks a law.
#[derive(Parser)]
struct Options {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds, one after the other.
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// Actions of each history.
    #[arg(long, default_value_t = 150)]
    steps: usize,
    /// Go on with the next seed until somebody ends this program.
    #[arg(long)]
    until_stopped: bool,
    /// Begin no further history after so many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Live through the history in this file instead.
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Where to write the shortest history that breaks the law.
    #[arg(long, default_value = "broken.json")]
    out: PathBuf,
    /// Seconds to spend on making a history shorter.
    #[arg(long, default_value_t = 60)]
    patience: u64,
    /// Print what was done and answered.
    #[arg(long)]
    lines: bool,
    /// Print how many days pass in a second, as one line of JSON.
    #[arg(long)]
    bench: bool,
}

/// A history that can be replayed.
#[derive(Serialize, Deserialize)]
struct File {
    seed: u64,
    actions: Vec<Action>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = if options.bench {
        bench(&options)
    } else if let Some(file) = &options.replay {
        replay(&options, file)
    } else {
        hunt(&options)
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::from(2)
        }
    }
}

fn say(line: &str) {
    // Whoever closed the output does not want to read it.
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn hunt(options: &Options) -> Result<bool, Broken> {
    let began = Instant::now();
    let mut seed = options.seed;
    loop {
        let over = match options.minutes {
            Some(minutes) => began.elapsed() >= Duration::from_secs(minutes * 60),
            None => !options.until_stopped && seed >= options.seed.saturating_add(options.seeds),
        };
        if over {
            say(&format!("{} histories of {} actions: no law was broken", seed - options.seed, options.steps));
            return Ok(true);
        }
        let actions = history(seed, options.steps);
        let told = tell(seed, &actions)?;
        if options.lines {
            told.lines.iter().for_each(|line| say(line));
        }
        if let Some((at, law)) = &told.broken {
            say(&format!("seed {seed} breaks a law after {} actions\n{law}", at + 1));
            let (shortest, law) = shorten(seed, &actions[..=*at], law, Duration::from_secs(options.patience))?;
            write(options, seed, &shortest)?;
            show(&tell(seed, &shortest)?, &law, &shortest);
            return Ok(false);
        }
        seed += 1;
    }
}

fn write(options: &Options, seed: u64, actions: &[Action]) -> Result<(), Broken> {
    let file = File { seed, actions: actions.to_vec() };
    let text = serde_json::to_string_pretty(&file).map_err(Broken::world)?;
    std::fs::write(&options.out, text).map_err(Broken::world)?;
    say(&format!("written to {0}; see it again with: suanli-sim --replay {0}", options.out.display()));
    Ok(())
}

fn show(told: &Told, law: &Broken, actions: &[Action]) {
    say(&format!("the shortest history found, {} actions:", actions.len()));
    for line in &told.lines {
        say(&format!("  {line}"));
    }
    say(&format!("{law}"));
}

fn replay(options: &Options, file: &PathBuf) -> Result<bool, Broken> {
    let text = std::fs::read_to_string(file).map_err(Broken::world)?;
    let file: File = serde_json::from_str(&text).map_err(Broken::world)?;
    let told = tell(file.seed, &file.actions)?;
    match &told.broken {
        Some((at, law)) => show(&told, law, &file.actions[..=*at]),
        None => {
            if options.lines {
                told.lines.iter().for_each(|line| say(line));
            }
            say(&format!("{} actions: no law was broken", file.actions.len()));
        }
    }
    Ok(told.broken.is_none())
}

/// What `--bench` prints, in the form of all figures.
#[derive(Serialize)]
struct Figure {
    name: &'static str,
    value: f64,
    unit: &'static str,
    runs: Vec<f64>,
}

fn bench(options: &Options) -> Result<bool, Broken> {
    let mut runs = Vec::new();
    for run in 0..5 {
        let began = Instant::now();
        let mut passed = 0;
        for seed in 0..3 {
            let seed = options.seed + run * 3 + seed;
            let told = tell(seed, &history(seed, options.steps))?;
            if let Some((_, law)) = told.broken {
                say(&format!("seed {seed} breaks a law: {law}"));
                return Ok(false);
            }
            passed += told.passed.secs();
        }
        #[allow(clippy::cast_precision_loss, reason = "a figure, not money")]
        runs.push(passed as f64 / 86_400.0 / began.elapsed().as_secs_f64());
    }
    let mut sorted = runs.clone();
    sorted.sort_by(f64::total_cmp);
    let value = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let figure = Figure { name: "sim_days_per_second", value, unit: "days/s", runs };
    say(&serde_json::to_string(&figure).map_err(Broken::world)?);
    Ok(true)
}
