import { textOf } from '../protobuf/json-text.ts';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { contractEnergyNow, cycleOf } from '../chain/dynamic-energy.ts';
import { delegatableSun, delegationKey } from '../chain/delegate.ts';
import { totalsOf } from '../chain/execution.ts';
import { slotOf } from '../chain/resources.ts';
import { messageToJson, type JsonObject } from '../protobuf/json.ts';
import type { ContractRecord } from '../state/records.ts';
import { accountKey, hex, parseAddress, toBase58 } from '../tron-address.ts';
import { nodeError, stateOf, type Endpoint, type NodeRequest } from './node.ts';
import { describeBlock } from './read-blocks.ts';
import { accountResources, accountToJson } from './show-account.ts';

function requestAddress({ body }: NodeRequest, name: string): Uint8Array {
  try {
    return parseAddress(body[name]);
  } catch {
    const invalid = 'org.tron.core.services.http.JsonFormat$ParseException';
    throw nodeError(invalid, '1:12: INVALID hex String');
  }
}

/** Account at the newest visible block, with usage recovered up to it. */
function accountAt(request: NodeRequest, name: string): { key: string; address: Uint8Array } {
  const address = requestAddress(request, name);
  return { key: accountKey(address), address };
}

function topTimeMs({ chain, top }: NodeRequest): number {
  return chain.blocks.get(top)?.timestampMs ?? chain.head.timestampMs;
}

function resourcesOf(request: NodeRequest): JsonObject {
  const { key } = accountAt(request, 'address');
  const state = stateOf(request);
  const account = state.get('account', key);
  if (account === undefined) return {};
  const { parameters } = request.chain;
  return accountResources(account, { slot: slotOf(topTimeMs(request)), totals: totalsOf(state), parameters });
}

const NET_KEYS = ['freeNetUsed', 'freeNetLimit', 'NetUsed', 'NetLimit', 'TotalNetLimit', 'TotalNetWeight'];

export const STATE_ENDPOINTS: Record<string, Endpoint> = {
  getaccount: (request) => {
    const { key, address } = accountAt(request, 'address');
    const state = stateOf(request);
    const account = state.get('account', key);
    if (account === undefined) return {};
    const { genesisTimeMs } = request.chain;
    const balance = state.get('evm', key)?.balance ?? 0n;
    const slot = slotOf(topTimeMs(request));
    return accountToJson(account, { address, balance, slot, genesisTimeMs, visible: request.visible });
  },
  getaccountresource: resourcesOf,
  getaccountnet: (request) => {
    const all = resourcesOf(request);
    return Object.fromEntries(Object.entries(all).filter(([name]) => NET_KEYS.includes(name)));
  },
  getdelegatedresourcev2: (request) => {
    const from = requestAddress(request, 'fromAddress');
    const to = requestAddress(request, 'toAddress');
    const state = stateOf(request);
    const of = (resource: number) =>
      state.get('delegation', delegationKey(accountKey(from), accountKey(to), resource));
    const [bandwidth, energy] = [of(0), of(1)];
    if (bandwidth === undefined && energy === undefined) return {};
    const show = (address: Uint8Array): string => (request.visible ? toBase58(address) : hex(address));
    return {
      delegatedResource: [
        {
          from: show(from),
          to: show(to),
          ...(bandwidth && { frozen_balance_for_bandwidth: bandwidth.amountSun }),
          ...(energy && { frozen_balance_for_energy: energy.amountSun }),
          ...(bandwidth?.lockedUntilMs ? { expire_time_for_bandwidth: bandwidth.lockedUntilMs } : {}),
          ...(energy?.lockedUntilMs ? { expire_time_for_energy: energy.lockedUntilMs } : {}),
        },
      ],
    };
  },
  getcandelegatedmaxsize: (request) => {
    const key = accountKey(requestAddress(request, 'owner_address'));
    const state = stateOf(request);
    const account = state.get('account', key);
    if (account === undefined) return {};
    const { parameters, head } = request.chain;
    const resource = Number(request.body['type'] ?? 0);
    const slot = slotOf(topTimeMs(request));
    const max = delegatableSun({ state, parameters, head }, account, resource, slot);
    return max === 0n ? {} : { max_size: max };
  },
  getcanwithdrawunfreezeamount: (request) => {
    const account = stateOf(request).get('account', accountKey(requestAddress(request, 'owner_address')));
    const asked = Number(request.body['timestamp'] ?? 0);
    const atMs = asked === 0 ? topTimeMs(request) : asked;
    const matured = (account?.unstaking ?? []).filter((entry) => entry.expiresAtMs <= atMs);
    const amount = matured.reduce((sum, entry) => sum + entry.amountSun, 0n);
    return amount === 0n ? {} : { amount };
  },
  getchainparameters: ({ chain }) => ({
    chainParameter: Object.entries(chain.parameters).map(([name, value]) => {
      const key = `get${name.charAt(0).toUpperCase()}${name.slice(1)}`;
      return value === 0 ? { key } : { key, value };
    }),
  }),
  getenergyprices: ({ chain }) => ({ prices: `0:${chain.parameters.energyFee}` }),
  getbandwidthprices: ({ chain }) => ({ prices: `0:${chain.parameters.transactionFee}` }),
  getmemofee: ({ chain }) => ({ prices: `0:${chain.parameters.memoFee}` }),
  getburntrx: (request) => ({ burnTrxAmount: totalsOf(stateOf(request)).burnedSun }),
  getnextmaintenancetime: ({ chain }) => {
    const interval = chain.parameters.maintenanceTimeInterval;
    const cycle = cycleOf(chain.head.timestampMs, chain.genesisTimeMs, chain.parameters);
    return { num: chain.genesisTimeMs + cycle * interval };
  },
  getnodeinfo: ({ chain }) => ({
    beginSyncNum: chain.head.number,
    block: describeBlock(chain, chain.head.number),
    solidityBlock: describeBlock(chain, chain.solidNumber),
    currentConnectCount: 0,
    activeConnectCount: 0,
    configNodeInfo: { codeVersion: 'opentill-devnet' },
  }),
  listnodes: () => ({}),
  listwitnesses: ({ chain, visible }) => ({
    witnesses: chain.producers.map(({ address }) => ({
      address: visible ? toBase58(address) : hex(address),
      voteCount: 1,
      url: 'http://devnet',
      isJobs: true,
    })),
  }),
  validateaddress: (request) => {
    const text = textOf(request.body['address']);
    try {
      parseAddress(text);
      return { result: true, message: text.startsWith('T') ? 'Base58check format' : 'Hex string format' };
    } catch {
      return { result: false, message: 'Invalid address' };
    }
  },
  getcontract: (request) => {
    const { key, address } = accountAt(request, 'value');
    const record = stateOf(request).get('contract', key);
    return record === undefined ? {} : contractToJson(address, record, request.visible);
  },
  getcontractinfo: (request) => {
    const { key, address } = accountAt(request, 'value');
    const state = stateOf(request);
    const record = state.get('contract', key);
    if (record === undefined) return {};
    const { chain } = request;
    const cycle = cycleOf(topTimeMs(request), chain.genesisTimeMs, chain.parameters);
    const energy = contractEnergyNow(state, key, cycle, chain.parameters);
    return {
      runtimecode: hex(state.get('code', key) ?? new Uint8Array()),
      smart_contract: contractToJson(address, record, request.visible),
      contract_state: {
        ...(energy.usage === 0n ? {} : { energy_usage: energy.usage }),
        ...(energy.factor === 0 ? {} : { energy_factor: energy.factor }),
        update_cycle: energy.cycle,
      },
    };
  },
};

function contractToJson(address: Uint8Array, record: ContractRecord, visible: boolean): JsonObject {
  const contract = {
    origin_address: new Uint8Array(Buffer.from(`41${record.originKey}`, 'hex')),
    contract_address: address,
    abi: record.abi ?? {},
    bytecode: record.bytecode,
    consume_user_resource_percent: BigInt(record.userPercent),
    name: record.name,
    origin_energy_limit: record.originEnergyLimit,
    code_hash: keccak_256(record.bytecode),
    version: 1,
  };
  return messageToJson('SmartContract', contract, visible);
}
