//! The protocol over stdin and stdout.

use std::io;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::stdio;
use rmcp::{ServerHandler, ServiceExt};

use crate::assistant::Assistant;

/// Serves until the client closes the connection. `version` is the program's version.
///
/// # Errors
/// The connection was lost, or the client violated the protocol.
pub fn serve(assistant: Assistant, version: &str) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let server = Server { assistant: Arc::new(assistant), version: version.to_owned() };
    runtime.block_on(async {
        let running = server.serve(stdio()).await.map_err(io::Error::other)?;
        running.waiting().await.map_err(io::Error::other)?;
        Ok(())
    })
}

struct Server {
    assistant: Arc<Assistant>,
    version: String,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("onoff", self.version.clone());
        config.with_instructions(self.assistant.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.assistant.tools().into_iter().map(|tool| {
            Tool::new(tool.name, tool.description, Arc::new(tool.schema))
                .with_annotations(ToolAnnotations::new().read_only(true).open_world(false))
        });
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let assistant = Arc::clone(&self.assistant);
        let name = request.name.to_string();
        let arguments = request.arguments.unwrap_or_default();
        let tool = name.clone();
        // Reading a recording takes seconds; keep serving other requests.
        let answer = tokio::task::spawn_blocking(move || assistant.call(&tool, &arguments)).await;
        match answer {
            Ok(Some(answer)) => {
                let content = vec![ContentBlock::text(answer.text)];
                let result =
                    if answer.failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
                Ok(result.into())
            }
            Ok(None) => Err(ErrorData::invalid_params(format!("unknown tool '{name}'"), None)),
            Err(error) => Err(ErrorData::internal_error(format!("{name}: {error}"), None)),
        }
    }
}
