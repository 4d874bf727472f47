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

/** The families that the gateway derives addresses for; a new family adds itself here. */
export const CHAIN_FAMILIES = {
  EVM: evmFamily,
  TRON: tronFamily,
  SUI: suiFamily,
} as const satisfies Readonly<Record<Family, object>>;

/** Address formats of the families. */
export const FAMILY_CODECS: readonly AddressCodec[] = Object.values(CHAIN_FAMILIES).map(
  ({ addressCodec }) => addressCodec,
);

/** A token's contract of the networks file as the database has it: in the canonical form of its family. */
export function canonicalContract(family: Family, contract: string): TokenContract {
  return contractIn(CHAIN_FAMILIES[family].addressCodec, contract) ?? (contract as TokenContract);
}

/** The token that is configured with this contract, in its canonical form; of null and undefined what has no contract: none. */
export function findTokenOf(
  { family, tokens }: Pick<NetworkConfig, 'family' | 'tokens'>,
  contract: string | null | undefined,
): NetworkConfig['tokens'][number] | undefined {
  return tokens.find(
    (token) => (token.contract === null ? null : canonicalContract(family, token.contract)) === contract,
  );
}

/** What an own transaction is known to move. */
export interface SentPayment {
  readonly txHash: string;
  readonly wallet: Address;
  readonly pays: { readonly contract: string | null; readonly to: string; readonly amount: bigint };
}

/** What became of transactions, by two sources, at a verified block; none of those of which they do not say it alike. */
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
  return (await reader.readFates(own, { atHeight: height, neverAlone: true })).fates;
}
