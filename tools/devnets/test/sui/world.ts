import { Ed25519Keypair } from '@mysten/sui/keypairs/ed25519';
import { Secp256k1Keypair } from '@mysten/sui/keypairs/secp256k1';
import type { Signer } from '@mysten/sui/cryptography';
import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import { Transaction } from '@mysten/sui/transactions';
import {
  startSuiDevnet,
  type DevTokenSymbol,
  type SuiDevnet,
  type SuiDevnetOptions,
} from '../../src/sui/start-sui-devnet.ts';

/** Devnet without timer, and the official client. */
export interface World {
  readonly devnet: SuiDevnet;
  readonly client: SuiGrpcClient;
  readonly keys: readonly Signer[];
  clientOf(url: string): SuiGrpcClient;
  /** Base units in coins and address balance together. */
  balanceOf(owner: string, symbol: DevTokenSymbol): Promise<bigint>;
  land(transaction: Transaction, signer?: Signer): Promise<Landed>;
  /** Builds a transfer from address balances without the node, valid in this epoch. */
  offline(from: Signer, to: string, amount: bigint, nonce: number): Promise<Written>;
  execute(written: Written): Promise<Landed>;
}

export interface Written {
  readonly bytes: Uint8Array;
  readonly signatures: readonly string[];
}

export type Landed = Awaited<ReturnType<SuiGrpcClient['executeTransaction']>>;

export const EVERYTHING = {
  effects: true,
  balanceChanges: true,
  transaction: true,
  objectTypes: true,
} as const;

export function newKey(): Ed25519Keypair {
  return new Ed25519Keypair();
}

export function newAddress(): string {
  return newKey().toSuiAddress();
}

export async function startWorld(options: Partial<SuiDevnetOptions> = {}): Promise<World> {
  const devnet = await startSuiDevnet({ checkpointMs: 0, ...options });
  const clientOf = (url: string): SuiGrpcClient =>
    new SuiGrpcClient({
      network: 'localnet',
      transport: new GrpcWebFetchTransport({ baseUrl: url, format: 'binary' }),
    });
  const client = clientOf(devnet.url);
  const keys = devnet.accounts.map(({ scheme, secretKey }) =>
    scheme === 'ED25519'
      ? Ed25519Keypair.fromSecretKey(secretKey)
      : Secp256k1Keypair.fromSecretKey(secretKey),
  );
  const execute = async ({ bytes, signatures }: Written): Promise<Landed> =>
    client.executeTransaction({ transaction: bytes, signatures: [...signatures], include: EVERYTHING });
  return {
    devnet,
    client,
    keys,
    clientOf,
    execute,
    async balanceOf(owner, symbol) {
      const { balance } = await client.getBalance({ owner, coinType: devnet.tokens[symbol] });
      return BigInt(balance.balance);
    },
    async land(transaction, signer = keys[1]!) {
      const result = await client.signAndExecuteTransaction({ transaction, signer, include: EVERYTHING });
      devnet.control.checkpoint();
      return result;
    },
    async offline(from, to, amount, nonce) {
      const transaction = new Transaction();
      transaction.setSender(from.toSuiAddress());
      transaction.setGasPrice(500);
      transaction.setGasBudget(5_000_000);
      transaction.setGasPayment([]);
      transaction.setExpiration({ ValidDuring: windowOf(devnet, nonce) });
      transaction.transferObjects([transaction.coin({ type: devnet.tokens.USDC, balance: amount })], to);
      const bytes = await transaction.build({ assumeSufficientAddressBalances: true } as never);
      return { bytes, signatures: [(await from.signTransaction(bytes)).signature] };
    },
  };
}

/** @param epochs first and last epoch, relative to the current one */
export function windowOf(
  devnet: Pick<SuiDevnet, 'chain' | 'chainId'>,
  nonce: number,
  epochs: readonly [number, number] = [0, 0],
): {
  minEpoch: string;
  maxEpoch: string;
  minTimestamp: null;
  maxTimestamp: null;
  chain: string;
  nonce: number;
} {
  const now = Number(devnet.chain.epoch.number);
  return {
    minEpoch: String(now + epochs[0]),
    maxEpoch: String(now + epochs[1]),
    minTimestamp: null,
    maxTimestamp: null,
    chain: devnet.chainId,
    nonce,
  };
}

export function told<T extends { readonly $kind: string }>(
  result: T,
): NonNullable<T extends { Transaction?: infer A } ? A : never> {
  const { Transaction: done, FailedTransaction: failed } = result as Record<string, unknown>;
  return (done ?? failed) as never;
}

/** Each is `address symbol amount`. */
export function changesOf(result: Landed): readonly string[] {
  const changes = (
    told(result) as unknown as { balanceChanges: { address: string; coinType: string; amount: string }[] }
  ).balanceChanges;
  return changes.map(
    ({ address, coinType, amount }) => `${address} ${coinType.split('::')[2] ?? ''} ${amount}`,
  );
}
