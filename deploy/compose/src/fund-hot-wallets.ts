import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { bookTopUp, readTopUp } from '@opentill/db/top-ups';
import { devAccount, DEPLOYER_INDEX } from '@opentill/devnets/evm/accounts';
import { payNative, payToken, tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { payOnSuiDevnet, suiBalance, waitForSuiCheckpoint } from '@opentill/devnets/sui/payments';
import { payOnTronDevnet, tronTokenBalance, waitForTronReceipt } from '@opentill/devnets/tron/payments';
import { waitUntil } from '@opentill/test-servers/poll-until';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';

/** CHAINS_NOT_FOLLOWED: no scanner started reading some chains in time. They received no funds. */
export type FundErrorCode = 'CHAINS_NOT_FOLLOWED';

/** Whole units of each token, and of the native coin. */
const TOKENS = 1_000_000n;
const COINS = 1_000n;
const POLL_INTERVAL_MS = 500;

/** The send functions resolve with the transaction hash once it is mined. */
interface Sender {
  balance(rpcUrl: string, contract: string, holder: string): Promise<bigint>;
  sendToken(
    rpcUrl: string,
    token: { readonly contract: string; readonly symbol: string },
    gift: Gift,
  ): Promise<string>;
  sendCoin(rpcUrl: string, gift: Gift): Promise<string>;
}
interface Gift {
  readonly to: string;
  readonly amountBaseUnits: bigint;
}

const fromKey = devAccount(DEPLOYER_INDEX).privateKey;
const onEvm: Sender = {
  balance: tokenBalance,
  sendToken: async (rpcUrl, { contract }, gift) =>
    minedOnEvm(rpcUrl, await payToken({ rpcUrl, token: contract, fromKey, ...gift })),
  sendCoin: async (rpcUrl, { to, amountBaseUnits }) =>
    minedOnEvm(rpcUrl, await payNative({ rpcUrl, fromKey, to, amountWei: amountBaseUnits })),
};
const onTron: Sender = {
  balance: tronTokenBalance,
  sendToken: async (url, { symbol }, gift) =>
    minedOnTron(url, await payOnTronDevnet({ url, symbol: symbol as 'USDT' | 'USDC', ...gift })),
  sendCoin: async (url, { to, amountBaseUnits: trxSun }) =>
    minedOnTron(url, await payOnTronDevnet({ url, to, trxSun })),
};
/** Funds address balances (SUI), from which payouts are paid. */
const onSui: Sender = {
  balance: suiBalance,
  sendToken: async (url, { symbol }, gift) =>
    landedOnSui(
      url,
      await payOnSuiDevnet({ url, symbol: symbol as 'USDT' | 'USDC', form: 'address', ...gift }),
    ),
  sendCoin: async (url, { to, amountBaseUnits: mist }) =>
    landedOnSui(url, await payOnSuiDevnet({ url, to, mist, form: 'address' })),
};
const SENDERS: Readonly<Record<Family, Sender>> = { EVM: onEvm, TRON: onTron, SUI: onSui };

async function minedOnEvm(rpcUrl: string, txid: string): Promise<string> {
  await waitForReceipt(rpcUrl, txid);
  return txid;
}

async function minedOnTron(url: string, [txid = '']: readonly string[]): Promise<string> {
  await waitForTronReceipt(url, txid);
  return txid;
}

async function landedOnSui(url: string, [digest = '']: readonly string[]): Promise<string> {
  await waitForSuiCheckpoint(url, digest);
  return digest;
}

export interface Funded {
  readonly chain: Chain;
  readonly hotWallet: string;
  /** Empty if the wallet had tokens. */
  readonly sent: readonly string[];
}

export interface Funding {
  /** With the role of ops. */
  readonly db: Db;
  readonly networks: readonly NetworkConfig[];
  readonly hotWalletOf: (family: Family) => string | undefined;
  /** For all scanners together. */
  readonly deadlineMs: number;
  readonly onFunded: (funded: Funded) => void;
}

/**
 * Sends coin and tokens to the hot wallets of local chains once a scanner reads each chain; earlier transfers would
 * never be seen. A chain without a scanner does not block others. @throws GatewayError CHAINS_NOT_FOLLOWED, after all
 * others
 */
export async function fundHotWallets({
  db,
  networks,
  hotWalletOf,
  deadlineMs,
  onFunded,
}: Funding): Promise<void> {
  const end = performance.now() + deadlineMs;
  const fundWhenFollowed = async (network: NetworkConfig): Promise<Chain | undefined> => {
    const { chain, family } = network;
    const hotWallet = hotWalletOf(family);
    if (hotWallet === undefined) return undefined;
    const polls = { deadlineMs: end - performance.now(), pollIntervalMs: POLL_INTERVAL_MS };
    if (!(await waitUntil(async () => isFollowed(db, chain), polls))) return chain;
    onFunded({ chain, hotWallet, sent: await fundHotWallet(db, network, hotWallet) });
    return undefined;
  };
  const unfollowed: Chain[] = [];
  for (const network of networks) {
    const chain = await fundWhenFollowed(network);
    if (chain !== undefined) unfollowed.push(chain);
  }
  if (unfollowed.length === 0) return;
  const message = `No scanner reads ${unfollowed.join(', ')}.`;
  throw new GatewayError<FundErrorCode>('CHAINS_NOT_FOLLOWED', message, { retryable: true });
}

async function isFollowed(db: Db, chain: Chain): Promise<boolean> {
  const cursor = await db.selectFrom('chain_cursor').select('chain').where('chain', '=', chain).execute();
  return cursor.length > 0;
}

/** Skips wallets with tokens. The gateway books tokens itself; coin is booked here. Returns the sent amounts. */
async function fundHotWallet(db: Db, network: NetworkConfig, to: string): Promise<readonly string[]> {
  const rpcUrl = rpcEndpointsOf(network)[0]?.url ?? '';
  const sender = SENDERS[network.family];
  const sent: string[] = [];
  for (const { contract, symbol, decimals } of network.tokens) {
    if (contract === null || (await sender.balance(rpcUrl, contract, to)) > 0n) continue;
    if (sent.length === 0) {
      const { nativeSymbol, nativeDecimals } = network;
      const txid = await sender.sendCoin(rpcUrl, {
        to,
        amountBaseUnits: COINS * 10n ** BigInt(nativeDecimals),
      });
      await bookTopUp(db, readTopUp(network, { symbol: nativeSymbol, amount: `${COINS}`, txid }));
      sent.push(`${COINS} ${nativeSymbol}`);
    }
    const gift = { to, amountBaseUnits: TOKENS * 10n ** BigInt(decimals) };
    await sender.sendToken(rpcUrl, { contract, symbol }, gift);
    sent.push(`${TOKENS} ${symbol}`);
  }
  return sent;
}
