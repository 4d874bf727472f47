// Orders and callbacks with @opentill/sdk.
//
// node node.mjs create URL TOKEN ORDER_ID         makes an order and prints the answer
// node node.mjs price URL TOKEN ORDER_ID PRICE CURRENCY   the same with a price; the answer has the options
// node node.mjs choose URL TOKEN ORDER_ID CHAIN SYMBOL    chooses one of them; the answer has its address
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
    amount: '12.50',
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
  });
  console.log(JSON.stringify(order));
} else if (action === 'price') {
  const [url, token, orderId, price, currency] = args;
  const opentill = createOpentill({ url, token });
  const order = await opentill.createCollection({
    orderId,
    price,
    currency,
    // Without it the customer chooses from all coins that are enabled.
    accept: [
      { chain: 'ETH_SEPOLIA', symbol: 'USDT' },
      { chain: 'BSC_TEST', symbol: 'USDT' },
    ],
  });
  console.log(JSON.stringify(order));
} else if (action === 'choose') {
  // The checkout does it; your own page may do it instead.
  const [url, token, orderId, chain, symbol] = args;
  const order = await createOpentill({ url, token }).choose(orderId, { chain, symbol });
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
