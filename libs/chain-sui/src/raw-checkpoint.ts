// Decoded but unchecked fields of a checkpoint; decode-checkpoint.ts checks them. Also types of the SDK's messages.

export interface RawCheckpoint {
  readonly sequenceNumber?: bigint | undefined;
  readonly digest?: string | undefined;
  readonly summary?:
    | {
        readonly epoch?: bigint | undefined;
        readonly totalNetworkTransactions?: bigint | undefined;
        readonly previousDigest?: string | undefined;
        readonly timestamp?: RawTime | undefined;
        readonly bcs?: RawBytes | undefined;
      }
    | undefined;
  readonly contents?: { readonly bcs?: RawBytes | undefined } | undefined;
  readonly transactions: readonly RawTransaction[];
}

export interface RawBytes {
  readonly value?: Uint8Array | undefined;
}

export interface RawTime {
  readonly seconds: bigint;
  readonly nanos: number;
}

export interface RawTransaction {
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
        readonly gasUsed?: RawGas | undefined;
      }
    | undefined;
  readonly balanceChanges: readonly RawBalanceChange[];
}

/** In MIST. */
export interface RawGas {
  readonly computationCost?: bigint | undefined;
  readonly storageCost?: bigint | undefined;
  readonly storageRebate?: bigint | undefined;
}

export interface RawBalanceChange {
  readonly address?: string | undefined;
  readonly coinType?: string | undefined;
  /** Signed decimal. */
  readonly amount?: string | undefined;
}
