//! The protocol over stdin and stdout.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::stdio;
use rmcp::{ServerHandler, ServiceExt};

use crate::assistant::Assistant;
use crate::work::Work;

/// Time between two reports of progress, and between two looks whether the client cancelled a call.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

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
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let assistant = Arc::clone(&self.assistant);
        let name = request.name.to_string();
        let arguments = request.arguments.unwrap_or_default();
        let running = Running(Arc::default());
        let (tool, work) = (name.clone(), Arc::clone(&running.0));
        // Reading a recording takes seconds; keep serving other requests.
        let mut task = tokio::task::spawn_blocking(move || assistant.call(&tool, &arguments, &work));
        let mut reported = 0;
        let answer = loop {
            if let Ok(answer) = tokio::time::timeout(REPORT_INTERVAL, &mut task).await {
                break answer;
            }
            if context.ct.is_cancelled() {
                running.0.cancel();
            }
            if let Some((done, total)) = running.0.progress()
                && done > reported
                && let Some(token) = context.meta.get_progress_token()
            {
                reported = done;
                let progress = ProgressNotificationParam::new(token, done as f64).with_total(total as f64);
                // A client that left cancels the call.
                let _ = context.peer.notify_progress(progress).await;
            }
        };
        match answer {
            Ok(Some(answer)) => {
                let content = vec![ContentBlock::text(answer.text)];
                let mut result =
                    if answer.failed { CallToolResult::error(content) } else { CallToolResult::success(content) };
                // Structured content is an object; lists are in the text only.
                result.structured_content = answer.json.filter(serde_json::Value::is_object);
                Ok(result.into())
            }
            Ok(None) => Err(ErrorData::invalid_params(format!("unknown tool '{name}'"), None)),
            Err(error) => Err(ErrorData::internal_error(format!("{name}: {error}"), None)),
        }
    }
}

/// A call that is cancelled when the connection closes.
struct Running(Arc<Work>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
