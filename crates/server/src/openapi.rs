//! The document at `/openapi.json`.

use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
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
