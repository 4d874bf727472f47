import type { TokenContract } from '@opentill/chain/transfer';
import type { Family } from '@opentill/domain/chains';
import { FAMILY_CODECS } from './commands/keys/family-codecs.ts';

/** A token's contract of the networks file as the database has it: in the canonical form of its family. */
export function canonicalContract(family: Family, contract: string): TokenContract {
  const codec = FAMILY_CODECS.find((candidate) => candidate.family === family);
  return (codec?.parse(contract) ?? contract) as string as TokenContract;
}
