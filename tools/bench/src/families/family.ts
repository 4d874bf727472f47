import type { AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import type { DevnetChain } from '@opentill/local/gateway-options';
import { CHECKOUT } from '@opentill/local/checkout';
import type { Gateway } from '@opentill/local/start-gateway';
import type { PayingNetwork } from '@opentill/payout-signer/payouts/paying-network';
import type { KeystoreSigner } from '@opentill/wallet/keystore-signer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ScannedFamily } from '../canned/plan.ts';

/** Base units of a token with six decimals. */
export const PAYMENT_BASE_UNITS = 12_500_000n;
export const PAYOUT_BASE_UNITS = 1_000_000n;

/** Gateway devnet that creates blocks only on request. */
export interface PayingDevnet {
  /** Blocks after the payment's own block until it is credited. */
  readonly blocksToSuccess: number;
  queue(addresses: readonly string[]): Promise<unknown>;
  mine(): Promise<number>;
}

export interface PayoutChain {
  readonly network: NetworkConfig & { readonly family: ScannedFamily };
  readonly contract: string;
  paying(keys: KeystoreSigner): PayingNetwork;
  /** Sends the token amount and enough coin for all fees. */
  fund(wallet: string, amountBaseUnits: bigint): Promise<void>;
  newReceiver(): string;
  balanceOf(receiver: string): Promise<bigint>;
  /** Number of the wallet's transactions on the chain. Only for chains with nonces. */
  countSent?(wallet: string): Promise<number>;
  stop(): Promise<unknown>;
}

export interface PayoutChainOptions {
  readonly dir: string;
  /** Limit of simultaneous open payouts. Undefined uses the local profile's limit. */
  readonly maxOpen: number | undefined;
}

export interface BenchFamily {
  readonly family: ScannedFamily;
  readonly codec: AddressCodec;
  readonly scanner: 'scanner-evm' | 'scanner-tron' | 'scanner-sui';
  readonly chain: DevnetChain;
  takeOver(gateway: Gateway): Promise<PayingDevnet>;
  startPayoutChain(options: PayoutChainOptions): Promise<PayoutChain>;
  /** The `catch-up` benchmark uses this chain's settings of mainnet.json. */
  readonly mainnet: 'ETH' | 'TRON' | 'SUI';
  /** Confirmations that the scanner requires above a block. */
  readonly depth: number;
  readonly tokenShare: number;
  nodeForm(contract: string): string;
  /** Converts the result of `depositHex` to the form that the database stores. */
  storedAddress(hex: string): string;
}

export async function networksOf(
  file: 'local.json' | 'mainnet.json' | 'testnet.json',
): Promise<readonly NetworkConfig[]> {
  return parseNetworkFile(await readFile(join(CHECKOUT, 'deploy', 'networks', file), 'utf8'), file);
}

export async function localNetwork<F extends ScannedFamily>(
  family: F,
  chain: DevnetChain,
  { url, maxOpen }: { readonly url: string; readonly maxOpen: number | undefined },
): Promise<NetworkConfig & { readonly family: F }> {
  const found = (await networksOf('local.json')).find((network) => network.chain === chain);
  if (found?.payouts === undefined) throw new Error(`local.json: ${chain} has no payouts`);
  const { wsUrl: _, ...network } = found;
  const cap = family === 'EVM' ? 'maxOpenNonces' : 'maxOpenPayouts';
  const payouts = { ...found.payouts, ...(maxOpen === undefined ? {} : { [cap]: maxOpen }) };
  return { ...network, family, rpcUrls: [url], payouts };
}

const PAYMENTS_AT_ONCE = 16;

/** Sends to sixteen addresses at a time. */
export async function queueTogether(
  addresses: readonly string[],
  pay: (address: string) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < addresses.length; at += PAYMENTS_AT_ONCE)
    await Promise.all(addresses.slice(at, at + PAYMENTS_AT_ONCE).map(pay));
}
