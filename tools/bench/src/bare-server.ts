import { createHmac, timingSafeEqual } from 'node:crypto';
import express from 'express';
import pg from 'pg';

/**
 * The other side of the ratio: the least that any gateway must do. express, an HMAC over the parsed data, one INSERT.
 * No nonce, no idempotency, no address, no event, no limits.
 */
const token = process.env['MERCHANT_TOKEN'] ?? '';
const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const app = express();
app.disable('x-powered-by');
app.use(express.json());
app.post('/v1/order/createCollection', async (req, res) => {
  const { sign, data } = req.body as {
    sign: string;
    data: { orderId: string; amount: string; symbol: string; chain: string };
  };
  const expected = createHmac('sha256', token).update(JSON.stringify(data)).digest();
  const given = Buffer.from(sign, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    res.status(401).json({ code: 401, msg: 'Sign verification failed', data: null });
    return;
  }
  await pool.query({
    name: 'insert-order',
    text: 'insert into bare_order (order_id, amount, symbol, chain) values ($1, $2, $3, $4)',
    values: [data.orderId, data.amount, data.symbol, data.chain],
  });
  res.json({ code: 200, msg: 'success', data });
});
const server = app.listen(Number(process.env['PORT']), '127.0.0.1', () => process.stdout.write('ready\n'));
process.once('SIGTERM', () => server.close(() => void pool.end()));
