// The same contract in another language: by its answers, and by the names of its errors. This one
// orders at a provider over HTTP; the message id is the order's reference.

class NotPerformed extends Error { name = "NotPerformed"; } // it did not happen, provably
class Rejected extends Error { name = "Rejected"; } // it did not happen, and never will

const PROVIDER = process.env.PROVIDER_URL;

// Once this function has thrown, Lambda freezes what still runs, and thaws it at a later call: so a
// request that takes too long is aborted, not only given up.
const ask = (path, more) => fetch(PROVIDER + path, { signal: AbortSignal.timeout(5000), ...more });

const order = (answer) => ({ performed: true, effect: { order: answer.id } });

async function perform(message) {
  const amount = JSON.parse(message.body)?.amount;
  if (!Number.isInteger(amount)) {
    throw new Rejected("amount must be an integer");
  }
  const body = JSON.stringify({ reference: message.message_id, amount });
  const response = await ask("/orders", { method: "POST", body });
  if (response.status === 429) { // the provider promises that such an order was not taken
    throw new NotPerformed("the provider asks for patience");
  }
  if (response.status !== 201) { // who knows: ActOnce waits, and asks `find`
    throw new Error(`the provider answered ${response.status}`);
  }
  return order(await response.json());
}

async function find(message) {
  const reference = encodeURIComponent(message.message_id);
  const response = await ask(`/orders?reference=${reference}`);
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
