import type { BlockHash } from './block.ts';

export interface CommitteeMember {
  /** Base64. */
  readonly publicKey: string;
  readonly weight: number;
}

/** The validators that certify the blocks of an epoch, in the order of their keys. */
export interface EpochCommittee {
  readonly epoch: number;
  readonly members: readonly CommitteeMember[];
}

/** The last block of an epoch, certified by its committee. */
export interface CertifiedEnd {
  readonly height: number;
  readonly hash: BlockHash;
  readonly next: EpochCommittee;
}

/** The last block of an epoch, as a range read it. */
export interface EpochEnd {
  readonly epoch: number;
  readonly height: number;
  readonly hash: BlockHash;
}

/**
 * Proof of a range. The contents of every block match the digest in its summary, and its summary matches its hash. So
 * the hash of a later block proves all of them; EpochCommittees proves that hash.
 */
export interface RangeProof {
  readonly epochEnds: readonly EpochEnd[];
}

export interface EpochCommittees {
  /**
   * Committee of an epoch, by agreement of two sources or by the only configured one. Later committees are proven
   * from it.
   */
  trusted(epoch: number, signal: AbortSignal | undefined): Promise<EpochCommittee>;
  /**
   * End of the committee's epoch, from any source: the committee's signatures prove it.
   * @throws INCONSISTENT_ANSWER without a quorum of the committee's signatures, BLOCK_NOT_FOUND if the source has
   * pruned it
   */
  certifiedEnd(committee: EpochCommittee, signal: AbortSignal | undefined): Promise<CertifiedEnd>;
}
