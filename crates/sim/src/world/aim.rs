//! Who is meant by a wish, and asking for it.

use super::*;

/// The place in a list of `len` things, oldest first, that a number picks when 0 is the newest.
pub(super) fn newest_first(n: u8, len: usize) -> usize {
    len - 1 - usize::from(n) % len
}

impl Task {
    /// The id of what it has in its hands.
    pub(super) fn holds(&self) -> Option<String> {
        self.object.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl World {
    /// What the newest of the held tasks has in its hands, as far as it is one of these.
    fn held<T>(&self, as_one: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.tasks.iter().rev().find_map(|task| task.holds().and_then(|id| as_one(&id)))
    }

    /// The instance that a wish with this number is about.
    fn aim(&self, n: u8) -> Option<InstanceId> {
        let held = || self.held(|id| self.rented.iter().map(|(one, _)| one).find(|one| one.as_str() == id).cloned());
        // The youngest ones: most of the others are released.
        let young = || {
            let place = usize::from(n) % self.rented.len().clamp(1, 4);
            self.rented.iter().rev().nth(place).map(|(id, _)| id.clone())
        };
        if n >= HELD { held().or_else(young) } else { young() }
    }

    /// The account that a number is about.
    fn payer(&self, n: u8) -> usize {
        let held = || self.held(|id| self.accounts.iter().position(|one| one.as_str() == id));
        let other = usize::from(n) % self.accounts.len();
        if n >= HELD { held().unwrap_or(other) } else { other }
    }

    pub(super) async fn wish(&mut self, server: usize, wish: Wish, twist: Twist) -> Result<(), Broken> {
        let asked = match wish {
            Wish::Rent { account, per_ms, count, rules, key } => {
                self.count += 1;
                let account = &self.accounts[usize::from(account) % self.accounts.len()];
                let what = (per_ms, count, rules);
                let instance = wish::instance(self.count, account, &self.user, what, self.now());
                self.rented.push((instance.id.clone(), per_ms));
                Some(Asked::Rent(Box::new(instance), key.map(|key| format!("rent-{key}"))))
            }
            Wish::Stop(n) => self.aim(n).map(Asked::Stop),
            Wish::Start(n) => self.aim(n).map(Asked::Start),
            Wish::Release(n) => self.aim(n).map(Asked::Release),
            Wish::TopUp { account, key } => {
                let account = self.payer(account);
                // A payment's number says how much it is, as with a payment service.
                return self.pay(server, account, 5 + 7 * i64::from(key), format!("pay:{account}:{key}"), twist).await;
            }
            Wish::Prices(n) => Some(Asked::Prices(format!("v{n}"))),
        };
        match asked {
            Some(asked) => self.ask(server, asked, twist).await,
            None => Ok(()),
        }
    }

    pub(super) async fn pay(
        &mut self,
        server: usize,
        account: usize,
        amount: i64,
        cause: String,
        twist: Twist,
    ) -> Result<(), Broken> {
        let account = self.accounts[account % self.accounts.len()].clone();
        self.ask(server, Asked::TopUp(account, Money::from_micros(amount * 1_000_000), cause), twist).await
    }

    async fn ask(&mut self, server: usize, asked: Asked, twist: Twist) -> Result<(), Broken> {
        let (store, user, now) = (self.servers[server].store.clone(), self.user.clone(), self.now());
        let what = match &asked {
            Asked::Rent(instance, key) => format!("server {server} is asked for {} with {key:?}", instance.id),
            other => format!("server {server} is asked to {other:?}"),
        };
        let object = match &asked {
            Asked::Rent(instance, _) => Some(instance.id.to_string()),
            Asked::Stop(id) | Asked::Start(id) | Asked::Release(id) => Some(id.to_string()),
            Asked::TopUp(account, _, _) => Some(account.to_string()),
            Asked::Prices(_) => None,
        };
        let join = tokio::spawn(async move {
            let answered = wish::ask(store, asked.clone(), user, now).await;
            Done::Answered(asked, answered)
        });
        let task = self.task(server, &what, join);
        *task.object.lock().unwrap_or_else(PoisonError::into_inner) = object;
        self.drive(task, twist).await.map(|_| ())
    }
}
