/*
 * What of a checkpoint is looked at, as a node tells it: nothing of it is checked yet (decode-checkpoint.ts does that). The SDK's messages
 * are of these types as well.
 */

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

/** What was hashed and signed, as the chain encodes it. */
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
  /** Decimal, with a sign. */
  readonly amount?: string | undefined;
}
