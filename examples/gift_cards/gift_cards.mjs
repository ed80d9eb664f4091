// The same contract in another language: what it answers is all that it says. This one orders at a
// provider over HTTP; the message id is the order's reference.

const PROVIDER = process.env.PROVIDER_URL;

const order = (answer) => ({ performed: true, effect: { order: answer.id } });

async function perform(message) {
  // Numbers that doubles would change come as a text.
  const body = "body_json" in message ? JSON.parse(message.body_json) : message.body;
  const amount = body?.amount;
  if (!Number.isInteger(amount)) {
    return { rejected: true, reason: "amount must be an integer" };
  }
  const response = await fetch(`${PROVIDER}/orders`, {
    method: "POST",
    body: JSON.stringify({ reference: message.message_id, amount }),
    signal: AbortSignal.timeout(5000),
  });
  if (response.status === 429) { // the provider promises that such an order was not taken
    const after = Number(response.headers.get("retry-after") ?? 5);
    return { not_performed: true, reason: "the provider asks for patience", retry_after: after };
  }
  if (response.status !== 201) { // who knows: ActOnce waits, and asks `find`
    throw new Error(`the provider answered ${response.status}`);
  }
  return order(await response.json());
}

async function find(message) {
  const reference = encodeURIComponent(message.message_id);
  const response = await fetch(`${PROVIDER}/orders?reference=${reference}`);
  if (response.status !== 200) {
    throw new Error(`the provider answered ${response.status}`);
  }
  const [found] = await response.json();
  return found ? order(found) : { performed: false };
}

export async function handler(event) {
  if (event.operation === "perform") return perform(event.message);
  if (event.operation === "find") return find(event.message);
  throw new Error("operation: expected perform or find");
}
