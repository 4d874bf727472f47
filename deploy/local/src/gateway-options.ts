import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { NetworkEnvironment } from '@opentill/contracts/network-overrides';

/** In the order in which they handle a payment. */
export const SERVICE_NAMES = [
  'api',
  'scanner-evm',
  'scanner-tron',
  'scanner-sui',
  'confirmation-tracker',
  'webhook-sender',
  'payout-signer',
  'rates',
  'ops',
  'demo-shop',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

export type GatewayService = Exclude<ServiceName, 'demo-shop'>;
export type BrokerService = Exclude<GatewayService, 'rates'>;
export const BROKER_SERVICES = SERVICE_NAMES.filter(
  (name): name is BrokerService => name !== 'demo-shop' && name !== 'rates',
);

export const EVM_DEVNET_CHAINS = ['ETH_SEPOLIA', 'BSC_TEST'] as const;
export type EvmDevnetChain = (typeof EVM_DEVNET_CHAINS)[number];
export type DevnetChain = EvmDevnetChain | 'TRON_TEST' | 'SUI_TEST';

/** Ports of 127.0.0.1. API and shop may also listen elsewhere (their configuration). */
export interface GatewayPorts {
  readonly api: number;
  readonly shop: number;
  readonly ops: number;
  readonly health: Readonly<Record<ServiceName, number>>;
  readonly chains: Readonly<Record<DevnetChain, number>>;
}

/** Fixed, so that scripts can rely on them. */
export const LOCAL_PORTS: GatewayPorts = {
  api: 3010,
  shop: 3011,
  ops: 3012,
  health: {
    api: 3020,
    'scanner-evm': 3021,
    'scanner-tron': 3027,
    'scanner-sui': 3028,
    'confirmation-tracker': 3022,
    'webhook-sender': 3023,
    'payout-signer': 3024,
    ops: 3025,
    rates: 3026,
    'demo-shop': 3029,
  },
  chains: { ETH_SEPOLIA: 8545, BSC_TEST: 8546, TRON_TEST: 9090, SUI_TEST: 9000 },
};

export interface MerchantSettings {
  readonly token: string;
  readonly webhookSecret: string;
  readonly callbackUrl: string;
  readonly version: 'V2' | 'V3';
}

export interface GatewayOptions {
  readonly stateDir: string;
  /** True continues with database, broker and chains of the last run. False empties them. */
  readonly keep: boolean;
  readonly ports: GatewayPorts;
  readonly merchant: MerchantSettings;
  readonly ownNodes?: {
    /** Replaces deploy/networks/local.json. Every chain in it uses external nodes. */
    readonly networksFile?: string | undefined;
    /** `<CHAIN>_RPC_URLS` and other variables that replace URLs of the network file. */
    readonly environment: NetworkEnvironment;
  };
  readonly given: { readonly databaseUrl?: string | undefined; readonly amqpUrl?: string | undefined };
  /** False skips syncing to disk, for temporary data. @default true */
  readonly durable?: boolean;
  /** @default 1 */
  readonly blockTimeSeconds?: number;
  /** Overrides for the EVM networks of deploy/networks/local.json. RPC addresses always follow `ports`. */
  readonly networkChanges?: Partial<
    Pick<NetworkConfig, 'confirmations' | 'pollIntervalMs' | 'reorgWindow' | 'explorerTxUrl'>
  >;
  /** Additional variables per service. They override those of service-environments.ts. */
  readonly extraEnvironment?: Readonly<Partial<Record<ServiceName, Readonly<Record<string, string>>>>>;
  /**
   * Services to start. Scanners of families without a network never start. Without payout-signer, networks have no
   * payouts; without scanner-tron or scanner-sui, their network and devnet do not exist. @default all
   */
  readonly services?: readonly ServiceName[];
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal;
}
