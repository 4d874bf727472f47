import { GrpcTypes } from '@mysten/sui/grpc';
import type { Chain, Epoch, PastEpoch } from '../chain/chain.ts';
import { LIMITS } from '../chain/parameters.ts';
import { committeeOf } from '../validators.ts';
import { makeFields, type FieldMask } from './field-mask.ts';
import { showTimestamp } from './timestamp.ts';

const PROTOCOL_VERSION = BigInt(LIMITS.protocolVersion);
const SYSTEM_STATE_VERSION = 2n;

/** Past epochs are shown with today's parameters. */
export function showEpoch({ parameters }: Chain, epoch: Epoch | PastEpoch, mask: FieldMask): GrpcTypes.Epoch {
  const { referenceGasPrice } = parameters;
  return makeFields<GrpcTypes.Epoch>(GrpcTypes.Epoch, mask, {
    epoch: () => epoch.number,
    committee: () => ({ epoch: epoch.number, members: [...committeeOf(epoch.number)] }),
    firstCheckpoint: () => BigInt(epoch.firstCheckpoint),
    lastCheckpoint: () => ('lastCheckpoint' in epoch ? BigInt(epoch.lastCheckpoint) : undefined),
    start: () => showTimestamp(epoch.startMs),
    end: () => ('endMs' in epoch ? showTimestamp(epoch.endMs) : undefined),
    referenceGasPrice: () => referenceGasPrice,
    systemState: () =>
      GrpcTypes.SystemState.create({
        version: SYSTEM_STATE_VERSION,
        epoch: epoch.number,
        protocolVersion: PROTOCOL_VERSION,
        referenceGasPrice,
        epochStartTimestampMs: BigInt(epoch.startMs),
        safeMode: false,
        parameters: { epochDurationMs: BigInt(LIMITS.epochDurationMs) },
        storageFund: {},
        stakeSubsidy: {},
      }),
    protocolConfig: () => ({
      protocolVersion: PROTOCOL_VERSION,
      configs: {},
      featureFlags: {
        enable_accumulators: true,
        enable_address_balance_gas_payments: true,
        enable_coin_reservation_obj_refs: true,
        enable_multi_epoch_transaction_expiration: true,
        enable_gasless: parameters.gaslessMinimums.size > 0,
        allowed_proposers: true,
      },
      attributes: {
        max_tx_size_bytes: String(LIMITS.transactionBytes),
        max_programmable_tx_commands: String(LIMITS.commands),
        max_arguments: String(LIMITS.argumentsOfCommand),
        max_input_objects: String(LIMITS.inputObjects),
        max_gas_payment_objects: String(LIMITS.gasObjects),
        max_pure_argument_size: String(LIMITS.pureArgumentBytes),
        max_tx_gas: String(LIMITS.gasBudgetMist),
        gas_rounding_step: String(LIMITS.gasStepUnits),
        max_gas_computation_bucket: String(LIMITS.computationUnits),
        storage_rebate_rate: String(LIMITS.storageRebatePerMyriad),
        base_tx_cost_fixed: String(LIMITS.gasStepUnits),
      },
    }),
  });
}
