import type { BlockHash } from './block.ts';

export interface CommitteeMember {
  /** Base64. */
  readonly publicKey: string;
  readonly weight: number;
}

/** The validators that certify the blocks of an epoch, in the order of their public keys. */
export interface EpochCommittee {
  readonly epoch: number;
  readonly members: readonly CommitteeMember[];
}

/** Proven by the signatures of the epoch's committee. */
export interface CertifiedEnd {
  readonly height: number;
  readonly hash: BlockHash;
  readonly next: EpochCommittee;
}

/** Read by a range, not yet certified. */
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
  /** Agreed by two sources or by the only configured one. Later committees are proven from this one. */
  trusted(epoch: number, signal: AbortSignal | undefined): Promise<EpochCommittee>;
  /**
   * From any source: the committee's signatures prove it. INCONSISTENT_ANSWER without a quorum of signatures,
   * BLOCK_NOT_FOUND if the source has pruned it.
   */
  certifiedEnd(committee: EpochCommittee, signal: AbortSignal | undefined): Promise<CertifiedEnd>;
}
