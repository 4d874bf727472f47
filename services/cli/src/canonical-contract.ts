import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Family } from '@opentill/domain/chains';
import { FAMILY_CODECS } from './commands/keys/family-codecs.ts';

/** A token's contract of the networks file as the database has it: in the canonical form of its family. */
export function canonicalContract(family: Family, contract: string): TokenContract {
  const codec = FAMILY_CODECS.find((candidate) => candidate.family === family);
  return (codec && contractIn(codec, contract)) ?? (contract as TokenContract);
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
