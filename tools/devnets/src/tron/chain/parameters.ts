/*
 * TRON's governance parameters with the values of 2026, and node limits. Amounts in sun. Source: getchainparameters
 * of java-tron 4.8.0, where names have the prefix `get` and a capital.
 */
export const DEFAULT_CHAIN_PARAMETERS = {
  maintenanceTimeInterval: 21_600_000,
  accountUpgradeCost: 9_999_000_000,
  createAccountFee: 100_000,
  transactionFee: 1_000,
  assetIssueFee: 1_024_000_000,
  witnessPayPerBlock: 32_000_000,
  witnessStandbyAllowance: 115_200_000_000,
  createNewAccountFeeInSystemContract: 1_000_000,
  createNewAccountBandwidthRate: 1,
  allowCreationOfContracts: 1,
  removeThePowerOfTheGr: 0,
  energyFee: 100,
  exchangeCreateFee: 1_024_000_000,
  maxCpuTimeOfOneTx: 50,
  allowUpdateAccountName: 0,
  allowSameTokenName: 1,
  allowDelegateResource: 1,
  totalEnergyLimit: 180_000_000_000,
  allowTvmTransferTrc10: 1,
  totalEnergyCurrentLimit: 180_000_000_000,
  allowMultiSign: 1,
  allowAdaptiveEnergy: 0,
  totalEnergyTargetLimit: 12_500_000,
  totalEnergyAverageUsage: 0,
  updateAccountPermissionFee: 100_000_000,
  multiSignFee: 1_000_000,
  allowAccountStateRoot: 0,
  allowProtoFilterNum: 1,
  allowTvmConstantinople: 1,
  allowTvmSolidity059: 1,
  allowTvmIstanbul: 1,
  allowShieldedTRC20Transaction: 0,
  forbidTransferToContract: 1,
  adaptiveResourceLimitTargetRatio: 10,
  adaptiveResourceLimitMultiplier: 1_000,
  changeDelegation: 1,
  witness127PayPerBlock: 16_000_000,
  allowMarketTransaction: 0,
  marketSellFee: 0,
  marketCancelFee: 0,
  allowPBFT: 0,
  allowTransactionFeePool: 0,
  maxFeeLimit: 15_000_000_000,
  allowOptimizeBlackHole: 1,
  allowNewResourceModel: 1,
  allowTvmFreeze: 1,
  allowTvmVote: 1,
  allowTvmLondon: 1,
  allowTvmCompatibleEvm: 1,
  allowAccountAssetOptimization: 1,
  freeNetLimit: 600,
  totalNetLimit: 43_200_000_000,
  allowHigherLimitForMaxCpuTimeOfOneTx: 1,
  allowAssetOptimization: 1,
  allowNewReward: 1,
  memoFee: 1_000_000,
  allowDelegateOptimization: 1,
  unfreezeDelayDays: 14,
  allowOptimizedReturnValueOfChainId: 0,
  allowDynamicEnergy: 1,
  dynamicEnergyThreshold: 5_000_000_000,
  dynamicEnergyIncreaseFactor: 2_000,
  dynamicEnergyMaxFactor: 34_000,
  allowTvmShangHai: 1,
  allowCancelAllUnfreezeV2: 1,
  maxDelegateLockPeriod: 86_400,
  allowOldRewardOpt: 0,
  allowEnergyAdjustment: 1,
  maxCreateAccountTxSize: 1_000,
  allowStrictMath: 0,
  consensusLogicOptimization: 1,
  allowTvmCancun: 1,
  allowTvmBlob: 0,
};

export type ChainParameterName = keyof typeof DEFAULT_CHAIN_PARAMETERS;
export type ChainParameters = Record<ChainParameterName, number>;

export const LIMITS = {
  /** A fuller pool returns SERVER_BUSY. */
  pendingTransactions: 2_000,
  /** Maximum time of a transaction in the pool. */
  pendingTimeoutMs: 60_000,
  transactionBytes: 500 * 1024,
  blockBytes: 2_000_000,
  /** Maximum time between the head and an expiration. */
  maxExpirationMs: 86_400_000,
  /** Block interval: a transaction sent now enters a block at least this much after the head. */
  slotMs: 3_000,
  /** Added to a signed transaction's size for bandwidth. */
  resultBytes: 64,
  /** Maximum age of a reference block in blocks. */
  taposBlocks: 65_536,
} as const;

export function isChainParameter(name: string): name is ChainParameterName {
  return Object.hasOwn(DEFAULT_CHAIN_PARAMETERS, name);
}
