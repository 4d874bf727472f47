/** What validators agree on for an epoch. */
export interface ChainParameters {
  /** MIST for a unit of computation, at least. */
  referenceGasPrice: bigint;
  /** Coin types that may be moved without gas, with the least amount a recipient may get so. */
  readonly gaslessMinimums: Map<string, bigint>;
  /** Of the whole network, which lets 300 a second through. */
  gaslessTransactionsPerCheckpoint: number;
  /** Whose transactions take just what they cost out of a shared object, so that gas changes no balance. */
  gasGivenBackTo?: string | undefined;
}

/** Protocol limits (crates/sui-protocol-config, version 138). */
export const LIMITS = {
  protocolVersion: 138,
  transactionBytes: 131_072,
  gaslessTransactionBytes: 16_384,
  commands: 1_024,
  /** Fewer than this. */
  argumentsOfCommand: 512,
  inputObjects: 2_048,
  gasObjects: 256,
  withdrawals: 10,
  pureArgumentBytes: 16_384,
  gasBudgetMist: 50_000_000_000n,
  /** Units that any transaction costs at least, and the step that costs are rounded up to. */
  gasStepUnits: 1_000n,
  computationUnits: 5_000_000n,
  storageRebatePerMyriad: 9_900n,
  epochDurationMs: 86_400_000,
} as const;

export const MAINNET_GAS_PRICE_MIST = 500n;
/** One cent of a coin with six decimals. */
export const GASLESS_MINIMUM_BASE_UNITS = 10_000n;
export const GASLESS_TRANSACTIONS_PER_CHECKPOINT = 75;
