import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { devAccount, DEPLOYER_INDEX } from '@opentill/devnet/evm-accounts';
import { mine, payNative, payToken, tokenBalance } from '@opentill/devnet/evm-devnet';
import { waitForReceipt } from '@opentill/devnet/evm-transactions';
import { runOpentill } from './run-command.ts';
import type { Environment } from './service-environments.ts';
import type { RunningChain } from './start-chains.ts';

/** What a hot wallet gets of every token and of the native coin, in whole units. */
const TOKENS = 1_000_000n;
const COINS = 1_000n;
const BOOKING_DEADLINE_MS = 20_000;

/** A payment into a hot wallet that the ledger has to know of. */
export interface TopUp {
  readonly chain: string;
  readonly symbol: string;
  /** Display units. */
  readonly amount: string;
  readonly txid: string;
}

/**
 * Gives the hot wallet coin and tokens on every devnet, and books the tokens into the ledger, where payouts draw on
 * them. A wallet that has tokens already (a kept chain) gets none. What was paid but not booked yet stands in `file`, so
 * that a start cut short between the two is mended by the next; booking twice is booking once.
 */
export async function fundHotWallets(funding: {
  readonly chains: readonly RunningChain[];
  readonly hotWallet: string;
  /** Takes the payments that wait to be booked. */
  readonly file: string;
  readonly env: Environment;
  readonly logs: string;
  readonly signal: AbortSignal | undefined;
}): Promise<void> {
  const { chains, hotWallet, file, env, logs, signal } = funding;
  const paid = await Promise.all(chains.map(async (chain) => fundHotWallet(chain, hotWallet)));
  const unbooked = [...readUnbooked(file), ...paid.flat()];
  writeFileSync(file, JSON.stringify(unbooked), { mode: 0o600 });
  for (const { chain, symbol, amount, txid } of unbooked) {
    const what = ['--chain', chain, '--symbol', symbol, '--amount', amount, '--txid', txid];
    const args = ['wallet', 'book-top-up', ...what];
    await runOpentill({ args, env, logs, deadlineMs: BOOKING_DEADLINE_MS, signal });
  }
  rmSync(file);
}

function readUnbooked(file: string): TopUp[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TopUp[]) : [];
}

/** The token payments, which a block holds by then. */
async function fundHotWallet({ network, node }: RunningChain, to: string): Promise<TopUp[]> {
  const { rpcUrl } = node;
  const fromKey = devAccount(DEPLOYER_INDEX).privateKey;
  const topUps: TopUp[] = [];
  for (const token of network.tokens) {
    if (token.contract === null || (await tokenBalance(rpcUrl, token.contract, to)) > 0n) continue;
    const amountBaseUnits = TOKENS * 10n ** BigInt(token.decimals);
    const txid = await payToken({ rpcUrl, token: token.contract, fromKey, to, amountBaseUnits });
    topUps.push({ chain: network.chain, symbol: token.symbol, amount: `${TOKENS}`, txid });
  }
  if (topUps.length === 0) return [];
  await payNative({ rpcUrl, fromKey, to, amountWei: COINS * 10n ** BigInt(network.nativeDecimals) });
  await mine({ rpcUrl, blocks: 1 });
  for (const { txid } of topUps) await waitForReceipt(rpcUrl, txid);
  return topUps;
}
