import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Db } from '@opentill/db/database';
import { bookTopUp, readTopUp } from '@opentill/db/top-ups';
import { devAccount, DEPLOYER_INDEX } from '@opentill/devnet/evm-accounts';
import { payNative, payToken, tokenBalance } from '@opentill/devnet/evm-devnet';
import { waitForReceipt } from '@opentill/devnet/evm-transactions';

/** What a hot wallet gets of every token and of the native coin, in whole units. */
const TOKENS = 1_000_000n;
const COINS = 1_000n;

/**
 * Gives the hot wallet of a local chain coin and tokens, unless it has tokens. The gateway sees the tokens come and books
 * them by itself; the coin, which is no asset of orders, is booked here. Answers what it sent.
 */
export async function fundHotWallet(db: Db, network: NetworkConfig, to: string): Promise<readonly string[]> {
  const rpcUrl = rpcEndpointsOf(network)[0]?.url ?? '';
  const fromKey = devAccount(DEPLOYER_INDEX).privateKey;
  const sent: string[] = [];
  for (const { contract, symbol, decimals } of network.tokens) {
    if (contract === null || (await tokenBalance(rpcUrl, contract, to)) > 0n) continue;
    if (sent.length === 0) sent.push(await sendCoin(db, network, rpcUrl, to));
    const amountBaseUnits = TOKENS * 10n ** BigInt(decimals);
    const txid = await payToken({ rpcUrl, token: contract, fromKey, to, amountBaseUnits });
    await waitForReceipt(rpcUrl, txid);
    sent.push(`${TOKENS} ${symbol}`);
  }
  return sent;
}

async function sendCoin(db: Db, network: NetworkConfig, rpcUrl: string, to: string): Promise<string> {
  const { nativeSymbol: symbol, nativeDecimals } = network;
  const fromKey = devAccount(DEPLOYER_INDEX).privateKey;
  const txid = await payNative({ rpcUrl, fromKey, to, amountWei: COINS * 10n ** BigInt(nativeDecimals) });
  await waitForReceipt(rpcUrl, txid);
  await bookTopUp(db, readTopUp(network, { symbol, amount: `${COINS}`, txid }));
  return `${COINS} ${symbol}`;
}
