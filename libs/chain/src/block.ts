/** Written as its chain does; EVM: `0x` and 64 lower-case hex digits. */
export type BlockHash = string & { readonly __brand: 'BlockHash' };

export interface BlockHeader {
  /** A safe integer. SUI: the checkpoint's sequence number. */
  readonly height: number;
  readonly hash: BlockHash;
  readonly parentHash: BlockHash;
  /** Whole seconds since 1970. */
  readonly timeSeconds: number;
  /** SUI only. Absent in a block read back from the database. */
  readonly epoch?: number;
}
