import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { bookTopUp, readTopUp } from '@opentill/db/top-ups';
import { devAccount, DEPLOYER_INDEX } from '@opentill/devnet/evm-accounts';
import { payNative, payToken, tokenBalance } from '@opentill/devnet/evm-devnet';
import { waitForReceipt } from '@opentill/devnet/evm-transactions';
import { payOnTronDevnet, tronTokenBalance, waitForTronReceipt } from '@opentill/devnet/tron-payments';
import type { Family } from '@opentill/domain/chains';

/** What a hot wallet gets of every token and of the native coin, in whole units. */
const TOKENS = 1_000_000n;
const COINS = 1_000n;

/** How money is sent on the devnets of a family; each resolves with the transaction's hash once a block has it. */
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
const SENDERS: Readonly<Partial<Record<Family, Sender>>> = { EVM: onEvm, TRON: onTron };

async function minedOnEvm(rpcUrl: string, txid: string): Promise<string> {
  await waitForReceipt(rpcUrl, txid);
  return txid;
}

async function minedOnTron(url: string, [txid = '']: readonly string[]): Promise<string> {
  await waitForTronReceipt(url, txid);
  return txid;
}

/**
 * Gives the hot wallet of a local chain coin and tokens, unless it has tokens. The gateway sees the tokens come and books
 * them by itself; the coin, which is no asset of orders, is booked here. Answers what it sent.
 */
export async function fundHotWallet(db: Db, network: NetworkConfig, to: string): Promise<readonly string[]> {
  const rpcUrl = rpcEndpointsOf(network)[0]?.url ?? '';
  const sender = SENDERS[network.family];
  const sent: string[] = [];
  if (sender === undefined) return sent;
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
