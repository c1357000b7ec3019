-- AlterTable
ALTER TABLE "api_key" ADD COLUMN     "made_by" TEXT;

-- CreateIndex
CREATE INDEX "api_key_made_by_idx" ON "api_key"("made_by");
