/** A block's hash as its chain writes it; EVM: `0x` and 64 lower-case hex digits. */
export type BlockHash = string & { readonly __brand: 'BlockHash' };

export interface BlockHeader {
  /** Number of the block; a safe integer. SUI: the checkpoint's sequence number. */
  readonly height: number;
  readonly hash: BlockHash;
  /** Hash of the block at `height - 1`. */
  readonly parentHash: BlockHash;
  /** The block's own time in whole seconds since 1970. */
  readonly timeSeconds: number;
  /** SUI: epoch of the checkpoint. Absent on other chains, and in a block read back from the database. */
  readonly epoch?: number;
}
