import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent, SignedTransaction, WalletSender } from '@opentill/chain/wallet-sender';
import type { Anvil } from '@opentill/devnets/evm/anvil';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  dropTransaction,
  mine,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits } from '@opentill/domain/money';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { SigningKey, getBytes, hexlify, randomBytes } from 'ethers';
import { createEvmSender } from '../src/sender/create-sender.ts';

const CHAIN_ID = 97;
const PAYMENTS = 120;
const GWEI = 10n ** 9n;
const HOT = devAccount(1);
const WALLET = HOT.address.toLowerCase() as Address;
const TOKEN = DEV_TOKEN_ADDRESSES.USDT.toLowerCase() as TokenContract;

let dir: string;
let anvil: Anvil;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sender-faults-'));
  anvil = await startAnvil({ dir, port: await findFreePort(), chainId: CHAIN_ID });
  await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  await setBlockTime(anvil.rpcUrl, 0);
});
afterAll(async () => {
  await anvil.stop('kill');
  await rm(dir, { recursive: true });
});

/** Retries after retryable errors; any other error is a bug. */
async function again<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GatewayError) || !error.retryable) throw error;
    }
  }
  throw new Error('no answer in 200 tries');
}

/** Successive, increasingly expensive transactions of one nonce; all are kept and sent again. */
interface Paying {
  readonly intent: PaymentIntent;
  readonly nonce: number;
  readonly attempts: SignedTransaction[];
}

async function sign(sender: WalletSender, intent: PaymentIntent, nonce: number): Promise<Paying> {
  const [prepared] = await again(async () => {
    const found = await sender.prepare([intent]);
    // Both proxies may lag or fail at the same time; a payable payment is never given up.
    if (found[0]?.kind === 'READY') return found;
    throw new GatewayError('RPC_UNAVAILABLE', JSON.stringify(found), { retryable: true });
  });
  if (prepared?.kind !== 'READY') throw new Error(JSON.stringify(prepared));
  const prices = await again(() => sender.currentPrices());
  const first = await sender.sign(intent, nonce, { ...prices, gasLimit: prepared.gasLimit });
  return { intent, nonce, attempts: [first] };
}

test('each payment lands exactly once through two sources with all faults', async () => {
  const random = seededRandom(20);
  const faults = {
    connectionReset: 0.05,
    rateLimited: 0.01,
    unavailable: 0.05,
    truncatedJson: 0.08,
    answerMissing: 0.05,
    internalError: 0.05,
    laggingNode: 0.1,
  };
  const proxies = await Promise.all(
    [1, 2].map((seed) => createByzantineRpcProxy({ upstreamUrl: anvil.rpcUrl, seed, faults })),
  );
  const sender = createEvmSender(
    {
      chain: 'BSC_TEST',
      chainId: CHAIN_ID,
      rpcUrls: proxies.map(({ url }) => url),
      blockTimeMs: 1_000,
      maxBlockRange: 100,
      tokens: [],
      payouts: {
        minPriorityFeePerGas: '1',
        maxPriorityFeePerGas: `${50n * GWEI}`,
        maxFeePerGas: `${500n * GWEI}`,
      },
    },
    {
      backend: {
        addresses: [WALLET],
        sign: async (_, digest) => {
          const { r, s, yParity } = new SigningKey(HOT.privateKey).sign(digest);
          return getBytes(`${r}${s.slice(2)}0${yParity}`);
        },
      },
      requestTimeoutMs: 2_000,
    },
  );
  const start = Number(await callRpc<string>(anvil.rpcUrl, 'eth_getTransactionCount', [WALLET, 'latest']));
  const payings: Paying[] = [];
  for (let place = 0; place < PAYMENTS; place += 1) {
    const to = hexlify(randomBytes(20)) as Address;
    const intent = { from: WALLET, contract: TOKEN, to, amountBaseUnits: baseUnits(BigInt(place + 1)) };
    payings.push(await sign(sender, intent, start + place));
  }
  for (let round = 0; ; round += 1) {
    if (round > 400) throw new Error('the payments do not get through');
    const open = payings
      .slice((await again(() => sender.latestCount(WALLET))) - start, PAYMENTS)
      .slice(0, 16);
    if (open.length === 0) break;
    const [lowest] = open;
    const last = lowest?.attempts.at(-1);
    if (lowest !== undefined && last !== undefined && lowest.attempts.length < 4 && random() < 0.3) {
      const terms = sender.raise(last.terms, await again(() => sender.currentPrices()));
      if (terms !== undefined) lowest.attempts.push(await sender.sign(lowest.intent, lowest.nonce, terms));
    }
    const sent = open.flatMap(({ attempts }) => attempts);
    await sender.broadcast(random() < 0.5 ? sent : sent.toReversed());
    const forgotten = sent[Math.floor(random() * sent.length)];
    if (forgotten !== undefined && random() < 0.3) await dropTransaction(anvil.rpcUrl, forgotten.txHash);
    if (random() < 0.6) await mine({ rpcUrl: anvil.rpcUrl, blocks: 1 });
  }
  const end = Number(await callRpc<string>(anvil.rpcUrl, 'eth_getTransactionCount', [WALLET, 'latest']));
  expect(end - start).toBe(PAYMENTS);
  for (const { intent, attempts } of payings) {
    expect(await tokenBalance(anvil.rpcUrl, TOKEN, intent.to)).toBe(intent.amountBaseUnits);
    const receipts = await Promise.all(
      attempts.map(({ txHash }) =>
        callRpc<{ status: string } | null>(anvil.rpcUrl, 'eth_getTransactionReceipt', [txHash]),
      ),
    );
    expect(receipts.filter((receipt) => receipt !== null).map(({ status }) => status)).toEqual(['0x1']);
  }
  expect(payings.some(({ attempts }) => attempts.length > 1)).toBe(true);
  for (const { injected } of proxies)
    for (const fault of ['connectionReset', 'unavailable', 'truncatedJson', 'internalError'] as const)
      expect(injected[fault]).toBeGreaterThan(0);
  await Promise.all(proxies.map((proxy) => proxy.close()));
});
