/** A devnet cannot make the requested payment. The message names the correction. */
export class DevnetRefusal extends Error {}
