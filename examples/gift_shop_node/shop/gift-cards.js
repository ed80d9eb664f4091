// GiftCards: sends a gift card for an order. Its gift cards are rows of its own table, by the order's id and their own.
// The SDK is the one that Lambda's runtime brings.

const { DynamoDBClient, PutItemCommand, QueryCommand } = require("@aws-sdk/client-dynamodb");
const { randomUUID } = require("node:crypto");

const TABLE = process.env.GIFT_CARDS_TABLE;

// The call that cannot be repeated is made once: the SDK would repeat it after a lost answer.
const dynamodb = new DynamoDBClient({ maxAttempts: 1 });

// Once this function has thrown, Lambda freezes what still runs, and thaws it at a later call: so a
// request that takes too long is aborted, not only given up.
const ask = (command) => dynamodb.send(command, { abortSignal: AbortSignal.timeout(5000) });

// It did not happen, and never will; ActOnce knows it by its name.
class Rejected extends Error {
  name = "Rejected";
}

async function perform(message) {
  const order = JSON.parse(message.body);
  if (!Number.isInteger(order?.amount) || order.amount < 1) {
    throw new Rejected("amount must be a whole number, 1 or more");
  }
  const card = `card-${randomUUID()}`;
  await ask(
    new PutItemCommand({
      TableName: TABLE,
      Item: {
        order_id: { S: message.message_id },
        card_id: { S: card },
        amount: { N: String(order.amount) },
        sent_at: { S: new Date().toISOString() },
      },
    }),
  );
  return { performed: true, effect: { card } };
}

async function find(message) {
  const { Items } = await ask(
    new QueryCommand({
      TableName: TABLE,
      KeyConditionExpression: "order_id = :order",
      ExpressionAttributeValues: { ":order": { S: message.message_id } },
      ConsistentRead: true,
    }),
  );
  return Items.length ? { performed: true, effect: { card: Items[0].card_id.S } } : { performed: false };
}

exports.handler = async (event) => {
  if (event.operation === "perform") return perform(event.message);
  if (event.operation === "find") return find(event.message);
  throw new Error("operation: expected perform or find");
};
