//! The document at `/openapi.json`.

use api::problem::MEDIA_TYPE;
use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{Content, PathItem, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi};

/// The frame of the document; the routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(title = "Suanli", description = "GPU rental: offers, instances, bills."),
    components(schemas(api::problem::Problem)),
    modifiers(&Bearer),
    security(("bearer" = []))
)]
pub struct Document;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        document.components.get_or_insert_default().add_security_scheme("bearer", scheme);
    }
}

/// Adds the refusals that every route of a kind can give, so that none forgets
/// them, and tells all refusals in the form in which they are sent.
pub fn complete(document: &mut utoipa::openapi::OpenApi) {
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let mut refusals = vec![429, 500, 503];
        if operation.security.is_none() {
            refusals.extend([401, 403]);
        }
        if operation.request_body.is_some() {
            refusals.extend([408, 413, 422]);
        }
        if operation.parameters.is_some() {
            refusals.push(422);
        }
        let answers = &mut operation.responses.responses;
        refusals.extend(answers.keys().filter_map(|status| status.parse::<u16>().ok()).filter(|status| *status >= 400));
        for status in refusals {
            let problem = Content::new(Some(Ref::from_schema_name("Problem")));
            let response = ResponseBuilder::new().description(meaning(status)).content(MEDIA_TYPE, problem).build();
            answers.insert(status.to_string(), response.into());
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete, &mut item.patch].into_iter().flatten()
}

/// What a refusal with this status says.
fn meaning(status: u16) -> &'static str {
    match status {
        401 => "no token, or one that is not valid",
        403 => "signed in, but without this right",
        404 => "no such object, or not the caller's to see",
        408 => "the body did not arrive in time",
        409 => "understood, but refused as things are; the code says why",
        413 => "the body is larger than the server accepts",
        422 => "the request breaks a rule that its sender can see; the code says which",
        429 => "too many requests; `Retry-After` says when to ask again",
        503 => "a part of the service cannot be reached now",
        _ => "the server's own fault",
    }
}
