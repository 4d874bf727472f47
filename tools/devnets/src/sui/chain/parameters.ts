export interface ChainParameters {
  /** Minimum price of a computation unit in MIST. */
  referenceGasPrice: bigint;
  /** Coin types that gasless transactions may move, with the minimum amount per recipient in base units. */
  readonly gaslessMinimums: Map<string, bigint>;
  /** The network allows about 300 per second. */
  gaslessTransactionsPerCheckpoint: number;
  /** Gas of this payer's transactions comes from a shared object, so that it changes no balance. */
  gasGivenBackTo?: string | undefined;
}

/** Protocol limits (crates/sui-protocol-config, version 138). */
export const LIMITS = {
  protocolVersion: 138,
  transactionBytes: 131_072,
  gaslessTransactionBytes: 16_384,
  commands: 1_024,
  /** Exclusive limit. */
  argumentsOfCommand: 512,
  inputObjects: 2_048,
  gasObjects: 256,
  withdrawals: 10,
  pureArgumentBytes: 16_384,
  gasBudgetMist: 50_000_000_000n,
  /** Minimum units of a transaction, and the step to which costs are rounded up. */
  gasStepUnits: 1_000n,
  computationUnits: 5_000_000n,
  storageRebatePerMyriad: 9_900n,
  epochDurationMs: 86_400_000,
} as const;

export const MAINNET_GAS_PRICE_MIST = 500n;
/** One cent of a coin with six decimals. */
export const GASLESS_MINIMUM_BASE_UNITS = 10_000n;
export const GASLESS_TRANSACTIONS_PER_CHECKPOINT = 75;
