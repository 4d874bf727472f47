// Decoded but unchecked fields of a checkpoint, as a node returns them; decode-checkpoint.ts checks them. The SDK's
// messages have these types too.

export interface ToldCheckpoint {
  readonly sequenceNumber?: bigint | undefined;
  readonly digest?: string | undefined;
  readonly summary?:
    | {
        readonly epoch?: bigint | undefined;
        readonly totalNetworkTransactions?: bigint | undefined;
        readonly previousDigest?: string | undefined;
        readonly timestamp?: ToldTime | undefined;
        readonly bcs?: ToldBytes | undefined;
      }
    | undefined;
  readonly contents?: { readonly bcs?: ToldBytes | undefined } | undefined;
  readonly transactions: readonly ToldTransaction[];
}

/** The bytes that are hashed and signed, BCS. */
export interface ToldBytes {
  readonly value?: Uint8Array | undefined;
}

export interface ToldTime {
  readonly seconds: bigint;
  readonly nanos: number;
}

export interface ToldTransaction {
  readonly digest?: string | undefined;
  readonly transaction?:
    | {
        readonly sender?: string | undefined;
        readonly gasPayment?: { readonly owner?: string | undefined } | undefined;
      }
    | undefined;
  readonly effects?:
    | {
        readonly status?: { readonly success?: boolean | undefined } | undefined;
        readonly gasUsed?: ToldGas | undefined;
      }
    | undefined;
  readonly balanceChanges: readonly ToldChange[];
}

/** In MIST. */
export interface ToldGas {
  readonly computationCost?: bigint | undefined;
  readonly storageCost?: bigint | undefined;
  readonly storageRebate?: bigint | undefined;
}

export interface ToldChange {
  readonly address?: string | undefined;
  readonly coinType?: string | undefined;
  /** Signed decimal. */
  readonly amount?: string | undefined;
}
