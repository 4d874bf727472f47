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

/** Base units of one payment and of one payout, in a token with six decimals. */
export const PAYMENT_BASE_UNITS = 12_500_000n;
export const PAYOUT_BASE_UNITS = 1_000_000n;

/** A devnet of a gateway that creates blocks only on command. */
export interface PayingDevnet {
  /** Blocks after its own until a payment is credited. */
  readonly blocksToSuccess: number;
  /** Sends the payments of the next block. */
  queue(addresses: readonly string[]): Promise<unknown>;
  /** Creates the block. @returns its height */
  mine(): Promise<number>;
}

/** A devnet that pays payouts, with the settings of the local profile. */
export interface PayoutChain {
  readonly network: NetworkConfig & { readonly family: ScannedFamily };
  readonly contract: string;
  paying(keys: KeystoreSigner): PayingNetwork;
  /** Gives the wallet so many base units of the token, and coin for all fees. */
  fund(wallet: string, amountBaseUnits: bigint): Promise<void>;
  newReceiver(): string;
  balanceOf(receiver: string): Promise<bigint>;
  /** Transactions of the wallet that the chain counts; only with nonces. */
  countSent?(wallet: string): Promise<number>;
  stop(): Promise<unknown>;
}

export interface PayoutChainOptions {
  readonly dir: string;
  /** Most payouts that are on their way at once; that of the local profile if undefined. */
  readonly maxOpen: number | undefined;
}

/** A chain family: its devnets, its networks and the way its blocks are read. */
export interface BenchFamily {
  readonly family: ScannedFamily;
  readonly codec: AddressCodec;
  readonly scanner: 'scanner-evm' | 'scanner-tron' | 'scanner-sui';
  readonly chain: DevnetChain;
  takeOver(gateway: Gateway): Promise<PayingDevnet>;
  startPayoutChain(options: PayoutChainOptions): Promise<PayoutChain>;
  /** The chain of mainnet.json that `catch-up` takes its settings from. */
  readonly mainnet: 'ETH' | 'TRON' | 'SUI';
  /** Blocks above the newest one that the scanner verifies. */
  readonly depth: number;
  /** The share of a block's transactions that move a token. */
  readonly tokenShare: number;
  /** A contract as nodes write it. */
  nodeForm(contract: string): string;
  /** An address as the database stores it, by `depositHex`. */
  storedAddress(hex: string): string;
}

/** The networks of a file in deploy/networks. */
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

/** Sends a payment to each address, sixteen at once. */
export async function queueTogether(
  addresses: readonly string[],
  pay: (address: string) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < addresses.length; at += PAYMENTS_AT_ONCE)
    await Promise.all(addresses.slice(at, at + PAYMENTS_AT_ONCE).map(pay));
}
