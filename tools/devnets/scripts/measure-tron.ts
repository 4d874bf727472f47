import { sha256 } from '@noble/hashes/sha2.js';
import { signHash } from '../src/tron/chain/signature.ts';
import { newTransaction } from '../src/tron/http/new-transaction.ts';
import type { Transaction } from '../src/tron/protobuf/messages.ts';
import { transactionId } from '../src/tron/protobuf/transaction-json.ts';
import { encodeMessage } from '../src/tron/protobuf/wire.ts';
import { startTronDevnet } from '../src/tron/start-tron-devnet.ts';
import { addressOfKey, fromBase58, hex, hexBytes } from '../src/tron/tron-address.ts';
import { transferData } from '../src/tron/tron-artifacts.ts';

// node --conditions=source --expose-gc tools/devnets/scripts/measure-tron.ts [blocks]
const BLOCKS = Number(process.argv[2] ?? 20);
const PER_BLOCK = 200;

const devnet = await startTronDevnet({ blockTimeMs: 0 });
const { accounts, chain, tokens, url } = devnet;
const [, sender] = accounts;
if (sender === undefined) throw new Error('the TRON devnet has no account 1');
const { address, privateKeyHex } = sender;
const RECEIVERS = 50;

function receiver(index: number): Uint8Array {
  return addressOfKey(sha256(Buffer.from(`receiver ${index}`)));
}

function signed(count: number): string {
  const request = {
    chain,
    body: { fee_limit: 100_000_000 },
    side: 'wallet',
    top: 0,
    visible: false,
  } as const;
  const built = newTransaction(request, 'TriggerSmartContract', {
    owner_address: fromBase58(address),
    contract_address: fromBase58(tokens.USDT),
    data: transferData(receiver(count % RECEIVERS), BigInt(count + 1)),
  });
  const unsigned: Transaction = { raw_data: { ...built.raw_data, timestamp: BigInt(count) } };
  const signature = [signHash(transactionId(unsigned), hexBytes(privateKeyHex))];
  return hex(encodeMessage('Transaction', { ...unsigned, signature }));
}

async function post(path: string, body: object): Promise<string> {
  return (await fetch(`${url}/${path}`, { method: 'POST', body: JSON.stringify(body) })).text();
}

let sent = 0;
let broadcastMs = 0;
let mineMs = 0;
for (let block = 0; block < BLOCKS; block++) {
  const transactions = Array.from({ length: PER_BLOCK }, () => signed(sent++));
  const startedAt = performance.now();
  for (const transaction of transactions) await post('wallet/broadcasthex', { transaction });
  const allSentAt = performance.now();
  await devnet.control.mine();
  broadcastMs += allSentAt - startedAt;
  mineMs += performance.now() - allSentAt;
}
const { head } = devnet.control.summary();
const readStartedAt = performance.now();
let bytes = 0;
for (let num = head - BLOCKS + 1; num <= head; num++) {
  bytes += (await post('wallet/getblockbynum', { num })).length;
  bytes += (await post('wallet/gettransactioninfobyblocknum', { num })).length;
}
const readMs = performance.now() - readStartedAt;
globalThis.gc?.();
console.log(`broadcast ${(broadcastMs / sent).toFixed(2)} ms each (${sent})`);
console.log(`mine a block of ${PER_BLOCK}: ${(mineMs / BLOCKS).toFixed(0)} ms`);
console.log(
  `read block and infos: ${((BLOCKS / readMs) * 1000).toFixed(0)} blocks/s, ${Math.round(bytes / BLOCKS / 1024)} KiB each`,
);
console.log(`memory ${Math.round(process.memoryUsage().rss / 1024 / 1024)} MiB after ${sent} transactions`);
await devnet.close();
