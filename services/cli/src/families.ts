import { evmFamily } from '@opentill/chain-evm/family';
import { suiFamily } from '@opentill/chain-sui/family';
import { tronFamily } from '@opentill/chain-tron/family';
import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Family } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';

/** Add a new family here. */
export const CHAIN_FAMILIES = {
  EVM: evmFamily,
  TRON: tronFamily,
  SUI: suiFamily,
} as const satisfies Readonly<Record<Family, object>>;

export const FAMILY_CODECS: readonly AddressCodec[] = Object.values(CHAIN_FAMILIES).map(
  ({ addressCodec }) => addressCodec,
);

export function canonicalContract(family: Family, contract: string): TokenContract {
  return contractIn(CHAIN_FAMILIES[family].addressCodec, contract) ?? (contract as TokenContract);
}

/** Null: the native coin, if configured. Undefined: none. */
export function findTokenOf(
  { family, tokens }: Pick<NetworkConfig, 'family' | 'tokens'>,
  contract: string | null | undefined,
): NetworkConfig['tokens'][number] | undefined {
  return tokens.find(
    (token) => (token.contract === null ? null : canonicalContract(family, token.contract)) === contract,
  );
}

export interface SentPayment {
  readonly txHash: string;
  readonly wallet: Address;
  readonly pays: { readonly contract: string | null; readonly to: string; readonly amount: bigint };
}

/** Asks two sources at a verified block. Omits transactions on which they do not agree. */
export async function readFates(
  network: NetworkConfig,
  { height }: { readonly height: number },
  payments: readonly SentPayment[],
): Promise<readonly TransactionFate[]> {
  const own = payments.map(({ txHash, wallet, pays }) => ({
    txHash: txHash as TxHash,
    from: wallet,
    contract: pays.contract as TokenContract | null,
    to: pays.to as Address,
    amountBaseUnits: baseUnits(pays.amount),
  }));
  const reader = CHAIN_FAMILIES[network.family].createReader(network, {});
  return (await reader.readFates(own, { atHeight: height, requireTwoSources: true })).fates;
}
