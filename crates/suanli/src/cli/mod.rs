//! The verbs. `design/cli.md` of the project is their contract.

mod account;
mod audit;
mod audit_log;
mod backup;
mod bill;
mod cp;
mod doctor;
mod events;
mod exec;
mod incident;
mod key;
mod life;
mod login;
mod ls;
mod member;
mod node;
mod offers;
mod password;
mod price;
mod quota;
mod quote;
mod recovery;
mod rent;
#[cfg(feature = "server")]
mod restore;
mod rule;
mod run;
#[cfg(feature = "server")]
mod secret;
mod session;
mod show;
mod site;
mod ssh;
mod token;
mod top;
mod totp;
mod user;
mod watch;
mod whose;
mod why;

use base::{Error, Result};
use clap::{Parser, Subcommand};

use crate::output::Output;

/// What a verb ends with: the exit status, or why it did not work.
pub type Outcome = Result<u8, Failure>;

/// An error and the exit status that it leads to.
#[derive(Debug)]
pub struct Failure {
    /// Why.
    pub error: Error,
    /// Exit status of the program.
    pub exit: u8,
    /// Whether the user has seen it already.
    pub shown: bool,
}

impl Failure {
    /// A refusal whatever the kind of its cause: what was asked for did not come about.
    pub fn refused(error: Error) -> Self {
        Self { error, exit: 3, shown: false }
    }

    /// A refusal that is part of a result already printed as JSON.
    pub fn shown(error: Error) -> Self {
        Self { error, exit: 3, shown: true }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let exit = error.cause().kind().exit_code();
        Self { error, exit, shown: false }
    }
}

/// Rent GPUs on your own machines by the second.
///
/// Exit status: 0 done, 2 wrong usage, 3 refused (the cause is on standard
/// error), 4 not found, 5 not allowed, 6 service unavailable. SUANLI_URL and
/// SUANLI_TOKEN override the saved login.
#[derive(Debug, Parser)]
#[command(name = "suanli", version, max_term_width = 100)]
pub struct Cli {
    /// Print JSON: stable names, money with micros, times in UTC
    #[arg(long, global = true)]
    pub json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Login(login::Login),
    Logout(login::Logout),
    Whoami(login::WhoAmI),
    Password(password::Password),
    #[command(subcommand)]
    Session(session::Session),
    #[command(subcommand)]
    Totp(totp::Totp),
    Offers(offers::Offers),
    Quote(quote::Quote),
    Rent(rent::Rent),
    Run(run::Run),
    Ls(ls::Ls),
    Show(show::Show),
    Events(events::Events),
    Top(top::Top),
    Exec(exec::Exec),
    Ssh(ssh::Ssh),
    Cp(cp::Cp),
    Stop(life::Stop),
    Start(life::Start),
    Release(life::Release),
    #[command(subcommand)]
    Rule(rule::Rule),
    Why(why::Why),
    Bill(bill::Bill),
    Balance(bill::Balance),
    #[command(subcommand)]
    Member(member::Member),
    #[command(subcommand)]
    Token(token::Token),
    #[command(subcommand)]
    Key(key::Key),
    #[command(subcommand)]
    Account(account::Account),
    #[command(subcommand)]
    User(user::User),
    #[command(subcommand)]
    Price(price::Price),
    #[command(subcommand)]
    Node(node::Node),
    #[command(subcommand)]
    Incident(incident::Incident),
    Audit(audit::Audit),
    #[command(subcommand)]
    Site(site::Site),
    AuditLog(audit_log::AuditLog),
    Backup(backup::Backup),
    #[cfg(feature = "server")]
    Restore(restore::Restore),
    #[command(subcommand)]
    Recovery(recovery::Recovery),
    #[cfg(feature = "server")]
    #[command(subcommand)]
    Secret(secret::Secret),
    Doctor(doctor::Doctor),
    #[cfg(feature = "server")]
    Serve(Box<crate::serve::Serve>),
    #[cfg(feature = "server")]
    Agent(Box<crate::agent::Agent>),
}

impl Cli {
    /// Does what was asked for.
    pub async fn run(self) -> Outcome {
        let out = Output::from_environment(self.json);
        match self.verb {
            Verb::Login(verb) => verb.run(&out).await,
            Verb::Logout(verb) => verb.run(&out).await,
            Verb::Whoami(verb) => verb.run(&out).await,
            Verb::Password(verb) => verb.run(&out).await,
            Verb::Session(verb) => verb.run(&out).await,
            Verb::Totp(verb) => verb.run(&out).await,
            Verb::Site(verb) => verb.run(&out).await,
            Verb::Offers(verb) => verb.run(&out).await,
            Verb::Quote(verb) => verb.run(&out).await,
            Verb::Rent(verb) => verb.run(&out).await,
            Verb::Run(verb) => verb.run().await,
            Verb::Ls(verb) => verb.run(&out).await,
            Verb::Show(verb) => verb.run(&out).await,
            Verb::Events(verb) => verb.run(&out).await,
            Verb::Top(verb) => verb.run(&out).await,
            Verb::Exec(verb) => verb.run().await,
            Verb::Ssh(verb) => verb.run().await,
            Verb::Cp(verb) => verb.run(&out).await,
            Verb::Stop(verb) => verb.run(&out).await,
            Verb::Start(verb) => verb.run(&out).await,
            Verb::Release(verb) => verb.run(&out).await,
            Verb::Rule(verb) => verb.run(&out).await,
            Verb::Why(verb) => verb.run(&out).await,
            Verb::Bill(verb) => verb.run(&out).await,
            Verb::Balance(verb) => verb.run(&out).await,
            Verb::Member(verb) => verb.run(&out).await,
            Verb::Token(verb) => verb.run(&out).await,
            Verb::Key(verb) => verb.run(&out).await,
            Verb::Account(verb) => verb.run(&out).await,
            Verb::User(verb) => verb.run(&out).await,
            Verb::Price(verb) => verb.run(&out).await,
            Verb::Node(verb) => verb.run(&out).await,
            Verb::Incident(verb) => verb.run(&out).await,
            #[cfg(feature = "server")]
            Verb::Serve(verb) => verb.run().await,
            #[cfg(feature = "server")]
            Verb::Agent(verb) => verb.run().await,
            Verb::Audit(verb) => verb.run(&out).await,
            Verb::AuditLog(verb) => verb.run(&out).await,
            Verb::Backup(verb) => verb.run(&out).await,
            #[cfg(feature = "server")]
            Verb::Restore(verb) => verb.run(&out).await,
            Verb::Recovery(verb) => verb.run(&out).await,
            #[cfg(feature = "server")]
            Verb::Secret(verb) => verb.run(&out).await,
            Verb::Doctor(verb) => verb.run(&out).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_verbs_are_well_formed() {
        Cli::command().debug_assert();
    }

    /// The help is part of the contract: a change of it must be seen. It is that
    /// of the whole program, so the command line alone has fewer verbs.
    #[cfg(feature = "server")]
    #[test]
    fn help_of_every_verb() {
        let mut root = Cli::command().term_width(100);
        root.build();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "help" }, {
            snapshot(&mut root, "suanli");
        });
    }

    #[cfg(feature = "server")]
    fn snapshot(command: &mut clap::Command, name: &str) {
        insta::assert_snapshot!(name, command.render_long_help().to_string());
        for verb in command.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
            let name = format!("{name} {}", verb.get_name()).replace(' ', "-");
            snapshot(verb, &name);
        }
    }
}
