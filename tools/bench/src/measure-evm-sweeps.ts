import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent, SignedTransaction, WalletSender } from '@opentill/chain/wallet-sender';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { CUSTOMER_INDEX, devAccount } from '@opentill/devnets/evm/accounts';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  mine,
  payNative,
  payToken,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { baseUnits } from '@opentill/domain/money';
import { benchEvmNetwork, EVM_CHAIN_ID } from './bench-evm-network.ts';
import { makeSweepKeys } from './sweep-keys.ts';

/** Of each address, on average. */
export interface EvmSweepCost {
  readonly batch: number;
  readonly topUpGas: number;
  readonly transferGas: number;
}

const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase() as TokenContract;
const AMOUNT = baseUnits(50_000_000n);
/** Holds tokens before, as cold storage does. */
const COLD = '0xc01dc01dc01dc01dc01dc01dc01dc01dc01dc01d' as Address;

/** Empties so many addresses together, once each: coin for the fee, then the tokens. */
export async function measureEvmSweeps(
  dir: string,
  batches: readonly number[],
  say: (line: string) => void,
): Promise<readonly EvmSweepCost[]> {
  const anvil = await startAnvil({ dir, port: await findFreePort(), chainId: EVM_CHAIN_ID });
  try {
    const { rpcUrl } = anvil;
    await setBlockTime(rpcUrl, 0);
    await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
    const fromKey = devAccount(CUSTOMER_INDEX).privateKey;
    await payToken({ rpcUrl, token: USDT, fromKey, to: COLD, amountBaseUnits: AMOUNT });
    const costs: EvmSweepCost[] = [];
    for (const batch of batches) {
      costs.push(await sweepTogether(dir, rpcUrl, fromKey, batch));
      say(JSON.stringify(costs.at(-1)));
    }
    return costs;
  } finally {
    await anvil.stop('kill');
  }
}

async function sweepTogether(
  dir: string,
  rpcUrl: string,
  fromKey: string,
  batch: number,
): Promise<EvmSweepCost> {
  const { signer, wallet, deposits } = await makeSweepKeys(dir, evmFamily.addressCodec, batch);
  try {
    await payNative({ rpcUrl, fromKey, to: wallet, amountWei: 10n ** 18n });
    for (const to of deposits) await payToken({ rpcUrl, token: USDT, fromKey, to, amountBaseUnits: AMOUNT });
    await mine({ rpcUrl, blocks: 1 });
    const sender = createEvmSender(benchEvmNetwork({ rpcUrl, confirmations: 1, maxOpenNonces: 64 }), {
      backend: signer,
    });
    const sweeps = deposits.map((from) => ({ from, contract: USDT, to: COLD, amountBaseUnits: AMOUNT }));
    const limits = await gasOf(sender, sweeps);
    const { maxFeePerGas } = await sender.currentPrices();
    const topUps = deposits.map((to, place) => ({
      from: wallet,
      contract: null,
      to,
      amountBaseUnits: baseUnits(withFeeMargin((limits[place] ?? 0n) * maxFeePerGas)),
    }));
    const topUpGas = await sendAll(rpcUrl, sender, topUps, (place) => place);
    const transferGas = await sendAll(rpcUrl, sender, sweeps, () => 0);
    for (const address of deposits)
      if ((await tokenBalance(rpcUrl, USDT, address)) !== 0n) throw new Error(`${address} is not empty`);
    return { batch, topUpGas: topUpGas / batch, transferGas: transferGas / batch };
  } finally {
    signer.close();
  }
}

async function gasOf(sender: WalletSender, intents: readonly PaymentIntent[]): Promise<readonly bigint[]> {
  const prepared = await sender.prepare(intents);
  return prepared.map((one) => {
    if (one.kind !== 'READY') throw new Error(`${one.obstacle}: ${one.detail}`);
    return one.gasLimit;
  });
}

/** @returns the gas that all of them used */
async function sendAll(
  rpcUrl: string,
  sender: WalletSender,
  intents: readonly PaymentIntent[],
  nonceOf: (place: number) => number,
): Promise<number> {
  const limits = await gasOf(sender, intents);
  const prices = await sender.currentPrices();
  const signed: SignedTransaction[] = [];
  for (const [place, intent] of intents.entries())
    signed.push(await sender.sign(intent, nonceOf(place), { ...prices, gasLimit: limits[place] ?? 0n }));
  const outcomes = await sender.broadcast(signed);
  if (outcomes.some((outcome) => outcome !== 'ACCEPTED')) throw new Error(`not taken: ${outcomes.join()}`);
  await mine({ rpcUrl, blocks: 1 });
  let gas = 0;
  for (const { txHash } of signed) {
    const receipt = await callRpc<{ status: string; gasUsed: string } | null>(
      rpcUrl,
      'eth_getTransactionReceipt',
      [txHash],
    );
    if (receipt?.status !== '0x1') throw new Error(`${txHash} failed`);
    gas += Number(receipt.gasUsed);
  }
  return gas;
}
