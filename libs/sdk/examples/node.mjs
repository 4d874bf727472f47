// Orders and callbacks with @opentill/sdk.
//
// node node.mjs create URL TOKEN ORDER_ID         makes an order and prints the answer
// node node.mjs verify SECRET ID TIME SIGNATURE   reads a callback's body from standard input
import { text } from 'node:stream/consumers';
import { createOpentill } from '../src/client.ts';
import { verifyCallback } from '../src/verify-callback.ts';

const [action, ...args] = process.argv.slice(2);

if (action === 'create') {
  const [url, token, orderId] = args;
  const opentill = createOpentill({ url, token });
  const order = await opentill.createCollection({
    orderId,
    amount: '12.50', // or price: '49.90', currency: 'EUR'
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
  });
  console.log(JSON.stringify(order));
} else {
  const [secrets, id, timestamp, signature] = args;
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  try {
    const { notifyType, data } = verifyCallback({ body: await text(process.stdin), headers }, { secrets });
    console.log(notifyType, data.orderId);
  } catch (error) {
    console.log(`refused: ${error.message}`);
  }
}
