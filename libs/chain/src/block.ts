/** A block's hash as its chain writes it; EVM: `0x` and 64 lower-case hex digits. */
export type BlockHash = string & { readonly __brand: 'BlockHash' };

/** What the scan loop needs of a block. */
export interface BlockHeader {
  /** Number of the block; a safe integer. SUI: the checkpoint's sequence number. */
  readonly height: number;
  readonly hash: BlockHash;
  /** Hash of the block at `height - 1`. */
  readonly parentHash: BlockHash;
  /** The block's own time in whole seconds since 1970. */
  readonly timeSeconds: number;
  /** SUI: the epoch that the checkpoint is of. Other chains have none, and a block that was stored does not say. */
  readonly epoch?: number;
}
