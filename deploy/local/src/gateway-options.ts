import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { NetworkEnvironment } from '@opentill/contracts/network-overrides';

/** The processes of the gateway, in the order of the payment's way. */
export const SERVICE_NAMES = [
  'api',
  'scanner-evm',
  'scanner-tron',
  'scanner-sui',
  'confirmation-tracker',
  'webhook-sender',
  'payout-signer',
  'ops',
  'demo-shop',
] as const;
export type ServiceName = (typeof SERVICE_NAMES)[number];

/** The services that speak to the broker. */
export type BrokerService = Exclude<ServiceName, 'demo-shop'>;
export const BROKER_SERVICES = SERVICE_NAMES.filter((name): name is BrokerService => name !== 'demo-shop');

/** The EVM chains that the local profile brings a devnet for. */
export const EVM_DEVNET_CHAINS = ['ETH_SEPOLIA', 'BSC_TEST'] as const;
export type EvmDevnetChain = (typeof EVM_DEVNET_CHAINS)[number];
/** All of them. */
export type DevnetChain = EvmDevnetChain | 'TRON_TEST' | 'SUI_TEST';

/** Ports of 127.0.0.1 (the API and the shop also elsewhere, as their configuration says). */
export interface GatewayPorts {
  readonly api: number;
  readonly shop: number;
  /** The operators' API. */
  readonly ops: number;
  /** /livez, /readyz and /metrics of each service. */
  readonly health: Readonly<Record<ServiceName, number>>;
  readonly chains: Readonly<Record<DevnetChain, number>>;
}

/** Fixed by the architecture document, so that scripts can rely on them. */
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
    'demo-shop': 3029,
  },
  chains: { ETH_SEPOLIA: 8545, BSC_TEST: 8546, TRON_TEST: 9090, SUI_TEST: 9000 },
};

/** The merchant that exists from the start. */
export interface MerchantSettings {
  readonly token: string;
  readonly webhookSecret: string;
  readonly callbackUrl: string;
  readonly version: 'V2' | 'V3';
}

export interface GatewayOptions {
  /** Holds all state and logs. Only one gateway may use it at a time. */
  readonly stateDir: string;
  /** Goes on with database, broker and chains of the last run; false empties them. */
  readonly keep: boolean;
  readonly ports: GatewayPorts;
  readonly merchant: MerchantSettings;
  /** The developer's own nodes: no devnet is started for a chain that has some. */
  readonly ownNodes?: {
    /** A network file to use instead of deploy/networks/local.json; every chain in it has nodes of its own. */
    readonly networksFile?: string | undefined;
    /** `<CHAIN>_RPC_URLS` and the other variables that replace URLs of the network file. */
    readonly environment: NetworkEnvironment;
  };
  /** Servers named by DATABASE_URL and AMQP_URL, if any. */
  readonly given: { readonly databaseUrl?: string | undefined; readonly amqpUrl?: string | undefined };
  /** false: data are thrown away anyway, so nothing is synced to the disk. Default true. */
  readonly durable?: boolean;
  /** Default 1. */
  readonly blockTimeSeconds?: number;
  /** Changes to every EVM network of deploy/networks/local.json; the RPC addresses follow `ports` anyway. */
  readonly networkChanges?: Partial<
    Pick<NetworkConfig, 'confirmations' | 'pollIntervalMs' | 'reorgWindow' | 'explorerTxUrl'>
  >;
  /** Further environment variables of single services, over the ones of service-environments.ts. */
  readonly extraEnvironment?: Readonly<Partial<Record<ServiceName, Readonly<Record<string, string>>>>>;
  /**
   * The services to start. Default all, but no scanner of a family without a network. Without payout-signer the networks are configured without payouts; without
   * scanner-tron there is neither network nor devnet of TRON, and so with scanner-sui.
   */
  readonly services?: readonly ServiceName[];
  /** Gets a line for every step. */
  readonly say?: (line: string) => void;
  /** Ends the start early; everything that was started is stopped again. */
  readonly signal?: AbortSignal;
}
