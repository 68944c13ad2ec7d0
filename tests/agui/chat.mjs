// A chat by the published AG-UI client: it asks for a write, approves it when it is asked, and prints what it was told.
// Arguments: the address of the server up to and with its prefix, a token, the question.
import { HttpAgent } from "@ag-ui/client";

const [url, token, question] = process.argv.slice(2);
const headers = { authorization: `Bearer ${token}` };
const agent = new HttpAgent({
  url: `${url}/agents/orders-desk/test/ask`,
  headers,
  threadId: "agui-thread",
  initialMessages: [{ id: "question", role: "user", content: question }],
});

const approved = [];
const seen = [];
let outcome = null;
const { result, newMessages } = await agent.runAgent(
  {},
  {
    onEvent: ({ event }) => {
      seen.push(event.type);
    },
    onCustomEvent: async ({ event }) => {
      if (event.name !== "approval.requested") return;
      const { approval } = event.value;
      const answer = await fetch(`${url}/approvals/${approval}/decision`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ decision: "approve" }),
      });
      approved.push({ approval, status: answer.status });
    },
    onRunFinishedEvent: ({ event }) => {
      outcome = event.outcome;
    },
  },
);
console.log(JSON.stringify({ result, newMessages, approved, seen, outcome }));
