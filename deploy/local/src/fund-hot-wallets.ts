import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { sql } from 'kysely';
import { devAccount, DEPLOYER_INDEX } from '@opentill/devnets/evm/accounts';
import { mine, payNative, payToken, tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { payOnSuiDevnet, suiBalance, waitForSuiCheckpoint } from '@opentill/devnets/sui/payments';
import { payOnTronDevnet, tronTokenBalance, waitForTronReceipt } from '@opentill/devnets/tron/payments';
import type { WalletFiles } from './prepare-keys.ts';
import type { RunningChains, RunningEvmChain, RunningSuiChain, RunningTronChain } from './start-chains.ts';
import { openStartDatabase } from './open-start-database.ts';

/** Whole units of each token and of the native coin. */
const TOKENS = 1_000_000n;
const COINS = 1_000n;

export interface TopUp {
  readonly chain: string;
  readonly symbol: string;
  /** Base units, decimal. */
  readonly amount: string;
  readonly isCoinForFees: boolean;
  readonly txid: string;
}

/** Skips wallets that have tokens. Records unbooked payments in `file`: the next start repairs an interrupted one. */
export async function fundHotWallets(funding: {
  readonly chains: RunningChains;
  readonly wallet: Pick<WalletFiles, 'evmHotWallet' | 'tronHotWallet' | 'suiHotWallet'>;
  readonly file: string;
  /** Under the operators' role. */
  readonly databaseUrl: string;
}): Promise<void> {
  const { chains, wallet, file, databaseUrl } = funding;
  const paid = await Promise.all([
    ...chains.evm.map(async (chain) => fundOnEvm(chain, wallet.evmHotWallet)),
    ...(chains.tron === undefined ? [] : [fundOnTron(chains.tron, wallet.tronHotWallet)]),
    ...(chains.sui === undefined ? [] : [fundOnSui(chains.sui, wallet.suiHotWallet)]),
  ]);
  const unbooked = [...readUnbooked(file), ...paid.flat()];
  writeFileSync(file, JSON.stringify(unbooked), { mode: 0o600 });
  await bookAll(databaseUrl, unbooked);
  rmSync(file);
}

/** Calls the SQL functions of `opentill wallet book-top-up`, which would take a process per payment. */
async function bookAll(databaseUrl: string, topUps: readonly TopUp[]): Promise<void> {
  const database = openStartDatabase(databaseUrl);
  try {
    for (const { chain, symbol, amount, txid, isCoinForFees } of topUps) {
      const book = sql.ref(isCoinForFees ? 'book_gas_top_up' : 'book_top_up');
      const ref = `${chain}:${txid}:${symbol}`;
      await sql`select ${book}(${ref}, ${chain}, ${symbol}, ${amount}::numeric)`.execute(database.kysely);
    }
  } finally {
    await database.close();
  }
}

function readUnbooked(file: string): TopUp[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as TopUp[]) : [];
}

async function fundOnEvm({ network, node }: RunningEvmChain, to: string): Promise<TopUp[]> {
  const { rpcUrl } = node;
  const fromKey = devAccount(DEPLOYER_INDEX).privateKey;
  const topUps: TopUp[] = [];
  for (const token of network.tokens) {
    if (token.contract === null || (await tokenBalance(rpcUrl, token.contract, to)) > 0n) continue;
    const amountBaseUnits = TOKENS * 10n ** BigInt(token.decimals);
    const txid = await payToken({ rpcUrl, token: token.contract, fromKey, to, amountBaseUnits });
    topUps.push({
      chain: network.chain,
      symbol: token.symbol,
      amount: `${amountBaseUnits}`,
      txid,
      isCoinForFees: false,
    });
  }
  if (topUps.length === 0) return [];
  const amountWei = COINS * 10n ** BigInt(network.nativeDecimals);
  const coinTxid = await payNative({ rpcUrl, fromKey, to, amountWei });
  topUps.push({
    chain: network.chain,
    symbol: network.nativeSymbol,
    amount: `${amountWei}`,
    txid: coinTxid,
    isCoinForFees: true,
  });
  await mine({ rpcUrl, blocks: 1 });
  for (const { txid } of topUps) await waitForReceipt(rpcUrl, txid);
  return topUps;
}

async function fundOnTron({ network, node }: RunningTronChain, to: string): Promise<TopUp[]> {
  const { chain, nativeSymbol, nativeDecimals } = network;
  const topUps: TopUp[] = [];
  const pay = async (symbol: string, amount: bigint, isCoinForFees: boolean): Promise<void> => {
    const gift = isCoinForFees ? { trxSun: amount } : { symbol: devTokenOf(symbol), amountBaseUnits: amount };
    const [txid = ''] = await payOnTronDevnet({ url: node.url, to, ...gift });
    topUps.push({ chain, symbol, amount: `${amount}`, txid, isCoinForFees });
  };
  for (const { symbol, contract, decimals } of network.tokens) {
    if (contract === null || (await tronTokenBalance(node.url, contract, to)) > 0n) continue;
    await pay(symbol, TOKENS * 10n ** BigInt(decimals), false);
  }
  if (topUps.length === 0) return [];
  await pay(nativeSymbol, COINS * 10n ** BigInt(nativeDecimals), true);
  for (const { txid } of topUps) await waitForTronReceipt(node.url, txid);
  return topUps;
}

/** Funds address balances: SUI payouts spend those, not coin objects. */
async function fundOnSui({ network, node }: RunningSuiChain, to: string): Promise<TopUp[]> {
  const { chain, nativeSymbol, nativeDecimals } = network;
  const { url } = node;
  const topUps: TopUp[] = [];
  const pay = async (symbol: string, amount: bigint, isCoinForFees: boolean): Promise<void> => {
    const gift = isCoinForFees ? { mist: amount } : { symbol: devTokenOf(symbol), amountBaseUnits: amount };
    const [txid = ''] = await payOnSuiDevnet({ url, to, form: 'address', ...gift });
    topUps.push({ chain, symbol, amount: `${amount}`, txid, isCoinForFees });
  };
  for (const { symbol, contract, decimals } of network.tokens) {
    if (contract === null || (await suiBalance(url, contract, to)) > 0n) continue;
    await pay(symbol, TOKENS * 10n ** BigInt(decimals), false);
  }
  if (topUps.length === 0) return [];
  await pay(nativeSymbol, COINS * 10n ** BigInt(nativeDecimals), true);
  for (const { txid } of topUps) await waitForSuiCheckpoint(url, txid);
  return topUps;
}

function devTokenOf(symbol: string): 'USDT' | 'USDC' {
  if (symbol === 'USDT' || symbol === 'USDC') return symbol;
  throw new TypeError(`the devnet has no ${symbol}`);
}
